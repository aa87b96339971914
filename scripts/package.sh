#!/usr/bin/env bash
# Builds in dist/ what machines without this project need to run it; does nothing if it is up to date:
#     ndcg_spark.zip          only the package, for --py-files
#     ndcg_spark_env.tar.gz   a Python environment with what the package imports, for --archives ...#environment and
#                             spark.pyspark.python=./environment/bin/python; pyspark comes with the cluster's Spark
#
# The environment links to the interpreter that made it, like those of venv-pack: every machine needs the same minor
# version at the same path, and the same kind of system. NDCG_SPARK_PYTHON=/usr/bin/python3.11 chooses the interpreter.
# A plain tar suffices: only bin/python is ever called there, so no script's first line has to be rewritten.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

mkdir -p dist
work=$(mktemp -d dist/.package.XXXXXX)
trap 'rm -rf "$work"' EXIT

# A wheel is a zip file. Complete files are moved into place, because a running job may be fetching the old ones.
make_package() {
    python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" . >&2 ||
        fail "package: pip could not make a wheel" 4
    mv "$work"/*.whl dist/ndcg_spark.zip
    echo "package: made dist/ndcg_spark.zip" >&2
}

make_environment() {
    echo "package: making dist/ndcg_spark_env.tar.gz, once; it takes a minute" >&2
    "$interpreter" -m venv --without-pip "$work/environment" || fail "package: $interpreter cannot make an environment"
    python -m pip --python "$work/environment/bin/python" install --quiet --disable-pip-version-check \
        --constraint requirements.txt --requirement "$work/wanted" >&2 || fail "package: pip could not install" 4
    # The libraries' own tests and C headers are never read.
    tar --create --gzip --file "$work/ndcg_spark_env.tar.gz" --directory "$work/environment" \
        --exclude='*/site-packages/*/tests' --exclude='*/site-packages/*/include' .
    mv "$work/ndcg_spark_env.tar.gz" dist/ndcg_spark_env.tar.gz
    echo "package: made dist/ndcg_spark_env.tar.gz for $interpreter" >&2
}

interpreter=${NDCG_SPARK_PYTHON:-$(python -c 'import os, sys; print(os.path.realpath(sys._base_executable))')}
command -v "$interpreter" >/dev/null || fail "package: no interpreter $interpreter; correct NDCG_SPARK_PYTHON"
# What the package imports, and what a driver in a YARN container needs to open HDFS; a cluster has pyspark already.
python - >"$work/wanted" <<'PYTHON'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
    print(*project["dependencies"], *project["optional-dependencies"]["hdfs"], sep="\n")
PYTHON
{ echo "$interpreter" && "$interpreter" --version; } >"$work/made_by"
[ -f dist/ndcg_spark.zip ] || rm -f .venv/stamp-package
[ -f dist/ndcg_spark_env.tar.gz ] || rm -f .venv/stamp-package-environment
mapfile -t sources < <(find ndcg_spark -type f -not -name '*.pyc' -not -name '*.md' | sort)
stamped package pyproject.toml "${sources[@]}" -- make_package
stamped package-environment "$work/made_by" "$work/wanted" requirements.txt scripts/package.sh -- make_environment
