# Sourced by the other scripts: creates a virtual environment with this project and these extras if needed:
#     source environment.sh embedded    only what an evaluation on the embedded engine imports; also embedded,hdfs
#     source environment.sh dev         both engines and what the tests import
# Versions are exactly those of requirements.txt; SPARK_VERSION=4.0 sets a different Spark. Afterwards the current folder is
# the project's and `.venv/bin` comes first on the path.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# MESSAGE [EXIT CODE]: 2 if something is not installed and cannot be, 4 if it may succeed later (REFERENCE.md).
fail() {
    echo "$1" >&2
    exit "${2:-2}"
}

find_python() {
    local candidate candidates=(python3.11 python3.12 python3.13 python3.14 python3)
    # Falling back to another Python would test, or run on, a version that nobody chose.
    [ -z "${NDCG_SPARK_PYTHON:-}" ] || candidates=("$NDCG_SPARK_PYTHON")
    for candidate in "${candidates[@]}"; do
        # ensurepip is what Debian's python3 lacks until python3-venv is installed.
        if "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "setup: found no Python 3.11 or newer that can make virtual environments, as ${candidates[*]}; install one (Debian: apt-get install python3-venv)"
}

install() {
    # Nothing is compiled here: Python compiles each module at its first import, if it may write there.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$@" >&2 ||
        fail "setup: pip could not install $*" 4
}

# Runs a command unless it already ran for the same content of these files: stamped NAME FILE... -- COMMAND...
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
        [ -w .venv ] || fail "setup: $PWD/.venv is not up to date, and $(id -un) cannot write it; run this as its owner"
        "$@"
        echo "$content" >"$stamp"
    fi
}

install_project() {
    if [[ $1 != embedded* ]]; then
        # pyspark and its client share one folder: removing either one later also removes files of the other.
        if compgen -G '.venv/stamp-embedded*' >/dev/null; then
            echo "setup: installing Spark into $PWD/.venv, in place of its client alone; the embedded engine stays" >&2
        fi
        rm -f .venv/stamp-embedded*
        .venv/bin/python -m pip uninstall -qq --disable-pip-version-check --yes pyspark-client >&2
    fi
    install --constraint .venv/constraints.txt --editable ".[$1]"
}

if [ ! -x .venv/bin/python ]; then
    found_python=$(find_python) || exit
    echo "setup: installing into $PWD/.venv, once; it takes a few minutes" >&2
    "$found_python" -m venv .venv || fail "setup: $found_python cannot make .venv"
fi
# The pins, with the Spark version from SPARK_VERSION if that is set.
constraints() {
    sed "${SPARK_VERSION:+s/^pyspark==.*/pyspark==$SPARK_VERSION.*/}" requirements.txt
}
# It is written only if it changes, because other scripts may be reading it.
cmp --silent <(constraints) .venv/constraints.txt || constraints >.venv/constraints.txt || exit 2
extras=$1
# The tests' requirements include the embedded engine, with pyspark instead of the client.
[ ! -x .venv/bin/spark-submit ] || extras=${extras/#embedded/dev}
stamped "$extras" .venv/constraints.txt pyproject.toml -- install_project "$extras"

export PATH="$PWD/.venv/bin:$PATH"
# Otherwise every start would compile its imports again.
unset PYTHONDONTWRITEBYTECODE
# Spark's Python workers use this Python, not whatever `python3` is elsewhere.
export PYSPARK_PYTHON="$PWD/.venv/bin/python"
