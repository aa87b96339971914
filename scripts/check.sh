#!/usr/bin/env bash
# Runs ruff, ruff format, import-linter, mypy --strict and pytest, and installs what they need.
#     scripts/check.sh               everything that matters, in a few minutes: all tests on the embedded engine, and
#                                    those that use the test session again on classic Spark
#     scripts/check.sh --thorough    more random inputs, more cases for the live tools, coverage, older versions of
#                                    Spark, the oldest and the newest versions of all packages, and the documentation site;
#                                    other arguments are passed to pytest
#     SPARK_VERSION=4.0 scripts/check.sh    everything with a Spark version other than the pinned one, as in CI
set -euo pipefail
# Otherwise, a different checkout on this path would be tested.
unset PYTHONPATH
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" dev

# The tests' own requirements are installed while the code is checked: the live tools that the presets are compared with,
# the browser's driver, and the S3 server, which needs an older python-dateutil and therefore its own environment.
install_object_store() {
    python -m venv .venv/object-store
    .venv/object-store/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$1" >&2
}
stamped object-store tests/requirements-object-store.txt -- install_object_store tests/requirements-object-store.txt &
object_store=$!
# Everything they require is pinned, except 470 MB that XGBoost needs only for several graphics cards.
stamped requirements-parity.txt tests/requirements-parity.txt -- \
    install --no-deps --requirement tests/requirements-parity.txt &
parity=$!
# The environment for cluster workers, which takes a minute the first time, is also built in the meantime.
scripts/package.sh &
package=$!
# No installation keeps running when a check fails, because the next call would install into the same place.
trap wait EXIT
export MOTO_SERVER="$PWD/.venv/object-store/bin/moto_server"

java_package=openjdk-17-jre-headless
if ! command -v java >/dev/null && [ ! -x "${JAVA_HOME:-}/bin/java" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "check: local Spark needs Java 17; install it, on Debian with: sudo apt-get install $java_package"
    fi
    echo "check: installing $java_package" >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$java_package" >&2
fi

# Reports are opened in a browser. If it cannot be installed, the tests that need it are skipped with a message.
if ! command -v chromedriver >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "check: installing chromium and chromium-driver" >&2
    { apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; } >&2 ||
        echo "check: no chromium could be installed" >&2
fi

# An archive of Spark's classes as Java keeps them in memory, for the twenty sessions that tests start.
export SPARK_CLASSES="$PWD/.venv/spark-classes.jsa"
make_classes() {
    python tests/support/class_archive.py >&2
}
[ -f "$SPARK_CLASSES" ] || rm -f .venv/stamp-spark-classes
"${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>.venv/java-version || true
stamped spark-classes .venv/constraints.txt .venv/java-version tests/support/class_archive.py -- make_classes &
classes=$!

ruff check .
ruff format --check .
lint-imports --no-logo
# What runs next to the tests, so that no core is idle: pairs of a process and the file with its output.
beside=()
run_beside() {
    local output=$1
    shift
    "$@" >"$output" 2>&1 &
    beside+=("$!" "$output")
}
# Runs the tests, waits for what runs next to them and shows its output, even if a test fails: with_others COMMAND...
with_others() {
    local code=0 at
    "$@" || code=$?
    for ((at = 0; at < ${#beside[@]}; at += 2)); do
        wait "${beside[at]}" || code=$?
        cat "${beside[at + 1]}"
    done
    return "$code"
}
run_beside .venv/mypy.txt mypy
wait "$object_store"
wait "$parity"
wait "$package"
wait "$classes" || echo "check: no archive of Spark's classes; its sessions start slower" >&2

# Runs the quick tests on other versions, in a separate environment: test_with NAME ENGINE PIP_ARGUMENT...
test_with() {
    local name=$1 engine=$2 other="$PWD/.venv/$1"
    shift 2
    install_other() {
        python -m venv "$other"
        # Dependency groups need a newer pip than Python 3.11 includes.
        "$other/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' >&2
        "$other/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]' "$@" >&2
    }
    stamped "$name" requirements.txt tests/requirements-*.txt pyproject.toml -- install_other "$@"
    echo "check: with $name" >&2
    local here=(env PATH="$other/bin:$PATH" PYSPARK_PYTHON="$other/bin/python" pytest --numprocesses 2)
    if [ "$engine" = embedded ]; then
        "${here[@]}" -m "not slow and not cluster"
    fi
    "${here[@]}" --engine spark -m "not slow and not cluster"
    "${here[@]}" -m "spark and not slow and not cluster"
}

# Several sessions side by side: much of a test is waiting for a job to be planned.
if [[ " $* " == *" --thorough "* ]]; then
    # Airflow, which pins too much to share an environment with this project.
    install_airflow() {
        python -m venv .venv/airflow
        .venv/airflow/bin/python -m pip install --quiet --disable-pip-version-check 'apache-airflow>=3,<4' >&2
    }
    stamped airflow scripts/check.sh -- install_airflow
    export AIRFLOW="$PWD/.venv/airflow/bin/airflow"
    # Measuring coverage nearly doubles the processor time of a test without an engine.
    with_others pytest --numprocesses 2 --slow --cov --cov-report= "$@"
    pytest --numprocesses 2 --slow --cov --cov-append --cov-report= --engine spark "$@"
    scripts/docs.sh
    if [ -z "${SPARK_VERSION:-}" ]; then
        for version in 4.0 4.1; do
            SPARK_VERSION=$version constraints >".venv/constraints-$version.txt"
            test_with "spark-$version" spark --constraint ".venv/constraints-$version.txt" \
                --constraint tests/requirements-parity.txt --group tables
        done
        # The oldest versions that pyproject.toml allows for packages that users share with it.
        test_with oldest embedded --constraint tests/requirements-oldest.txt --group parity --group tables
        # Installed again each time, because the newest versions change.
        rm -rf .venv/newest .venv/stamp-newest
        test_with newest embedded --group parity --group tables
    fi
    echo "coverage of ndcg_spark: $(coverage report --format=total) % of lines and branches, without what runs in programs that tests start"
else
    # Tests wait for programs, servers and jobs. Both engines are tested at the same time, so that no core is idle.
    run_beside .venv/spark.txt pytest --slow --engine spark "$@"
    with_others pytest --numprocesses 2 --slow "$@"
fi
