# Sourced by the other scripts: a virtual environment with this project and exactly its requirements, made when needed.
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

install() {
    # Compiled below, on every core: pip compiles on one.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$@" >&2 ||
        fail "setup: pip could not install $*"
    # Without compiled bytecode every start compiles again, where PYTHONDONTWRITEBYTECODE is set. What does not compile
    # is an example or a template of its package, as pip thinks too.
    .venv/bin/python -m compileall -qq -j 0 .venv/lib || true
}

# Runs a command unless it was run before for the same content of these files: stamped NAME FILE... -- COMMAND...
stamped() {
    local stamp=".venv/stamp-$1" files=() content
    shift
    while [ "$1" != -- ]; do
        files+=("$1")
        shift
    done
    shift
    content=$(cat "${files[@]}" | cksum)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$content" ]; then
        "$@"
        echo "$content" >"$stamp"
    fi
}

install_project() {
    install --no-deps --editable .
    .venv/bin/python -m compileall -q ndcg_spark
}

if [ ! -x .venv/bin/python ]; then
    found_python=$(find_python) || exit 1
    echo "setup: installing into .venv, once; it takes a minute or two" >&2
    "$found_python" -m venv .venv || fail "setup: $found_python cannot make .venv"
fi
stamped requirements.txt requirements.txt -- install --requirement requirements.txt
stamped project pyproject.toml -- install_project

export PATH="$PWD/.venv/bin:$PATH"
# Spark's Python workers are this Python, not whatever `python3` is elsewhere.
export PYSPARK_PYTHON="$PWD/.venv/bin/python"
