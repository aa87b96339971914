# Sourced by the other scripts: a virtual environment with exactly requirements.txt and this project, made when needed.
# Afterwards the current folder is the project's and `.venv/bin` comes first on the path.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

fail() {
    echo "$1" >&2
    exit 1
}

find_python() {
    local candidate
    for candidate in python3.11 python3.12 python3.13 python3; do
        # ensurepip is what Debian's python3 lacks until python3-venv is installed.
        if "$candidate" -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "setup: no Python 3.11 to 3.13 that can make virtual environments; install one (Debian: apt-get install python3-venv)"
}

make_environment() {
    local wanted stamp=.venv/installed-from
    wanted=$(cat requirements.txt pyproject.toml | cksum)
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && [ -x .venv/bin/ndcg-spark ]; then
        return
    fi
    local python
    python=$(find_python) || exit 1
    echo "setup: installing into .venv, once" >&2
    "$python" -m venv .venv || fail "setup: $python cannot make .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt >&2 ||
        fail "setup: pip could not install requirements.txt"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable . >&2 ||
        fail "setup: pip could not install the project"
    # Without compiled bytecode every start compiles again, where PYTHONDONTWRITEBYTECODE is set.
    .venv/bin/python -m compileall -q ndcg_spark
    echo "$wanted" >"$stamp"
}

make_environment
export PATH="$PWD/.venv/bin:$PATH"
# Spark's Python workers are this Python, not whatever `python3` is elsewhere.
export PYSPARK_PYTHON="$PWD/.venv/bin/python"
