#!/usr/bin/env bash
# Makes what machines without this project need to run it, in dist/; does nothing if it is up to date:
#     ndcg_spark.zip          the package alone, for --py-files
#     ndcg_spark_env.tar.gz   a Python environment of what the package imports, for --archives ...#environment and
#                             spark.pyspark.python=./environment/bin/python; pyspark comes with the cluster's Spark
#
# The environment links to the interpreter that made it, as those of venv-pack do: every machine needs the same minor
# version at the same path and the same kind of system. NDCG_SPARK_PYTHON=/usr/bin/python3.11 chooses the interpreter.
# A plain tar suffices: only bin/python is ever called there, so no script's first line has to be rewritten.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

mkdir -p dist
work=$(mktemp -d dist/.package.XXXXXX)
trap 'rm -rf "$work"' EXIT

base_python() {
    python -c 'import os, sys; print(os.path.realpath(sys._base_executable))'
}

# Files are moved into place whole, and only if they changed: a job that is running may be fetching the old ones.
make_package() {
    python - "$work/ndcg_spark.zip" <<'PYTHON'
import sys, zipfile
from pathlib import Path

with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(path for path in Path("ndcg_spark").rglob("*.*") if path.suffix in (".py", ".j2", ".js", ".css")):
        # Without a date, so that the same source gives the same file.
        archive.writestr(zipfile.ZipInfo(path.as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED)
PYTHON
    if ! cmp --silent "$work/ndcg_spark.zip" dist/ndcg_spark.zip; then
        mv "$work/ndcg_spark.zip" dist/ndcg_spark.zip
        echo "package: made dist/ndcg_spark.zip" >&2
    fi
}

# What the package imports, and what a driver in a YARN container needs to open HDFS; a cluster has pyspark already.
imported_packages() {
    python - <<'PYTHON'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
    print(*project["dependencies"], *project["optional-dependencies"]["hdfs"], sep="\n")
PYTHON
}

make_environment() {
    "$interpreter" -m venv --without-pip "$work/environment" || fail "package: $interpreter cannot make an environment"
    python -m pip --python "$work/environment/bin/python" install --quiet --disable-pip-version-check \
        --constraint requirements.txt "${wanted[@]}" >&2 || fail "package: pip could not install ${wanted[*]}"
    # The libraries' own tests and C headers are never read.
    tar --create --gzip --file "$work/ndcg_spark_env.tar.gz" --directory "$work/environment" \
        --exclude='*/site-packages/*/tests' --exclude='*/site-packages/*/include' .
    mv "$work/ndcg_spark_env.tar.gz" dist/ndcg_spark_env.tar.gz
    echo "package: made dist/ndcg_spark_env.tar.gz for $interpreter" >&2
}

interpreter=${NDCG_SPARK_PYTHON:-$(base_python)}
command -v "$interpreter" >/dev/null || fail "package: no interpreter $interpreter; correct NDCG_SPARK_PYTHON"
wanted=()
mapfile -t wanted < <(imported_packages)
content=$({ printf '%s\n' "${wanted[@]}" && cat requirements.txt scripts/package.sh; } | cksum)
made_of="$interpreter $("$interpreter" --version) $content"
make_package
if [ ! -f dist/ndcg_spark_env.tar.gz ] || [ "$(cat dist/ndcg_spark_env.stamp 2>/dev/null)" != "$made_of" ]; then
    echo "package: making dist/ndcg_spark_env.tar.gz, once; it takes a minute" >&2
    make_environment
    echo "$made_of" >dist/ndcg_spark_env.stamp
fi
