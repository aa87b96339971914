#!/usr/bin/env bash
# Submits one evaluation to any Spark, from any folder:
#     scripts/submit.sh [--dry-run] [options of spark-submit] -- [arguments of ndcg-spark evaluate]
#     scripts/submit.sh --master yarn --py-files gains.py -- --config night.toml --set gain=python:gains.shop
#
# All options before -- are passed to spark-submit unchanged, after the ones set here, so they win. --py-files, --archives and
# --files add to ours instead of replacing them. Without --master, Spark runs on this machine: local[*]. --dry-run
# prints the command line, prepares nothing and runs nothing. The exit code is the job's (REFERENCE.md), but not with
# --deploy-mode cluster, where spark-submit only distinguishes success (0) from failure.
#
# It uses the Spark of SPARK_HOME, otherwise the spark-submit on the PATH, otherwise the one installed in .venv.
set -euo pipefail

called_from=$PWD
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [[ ${1:-} = -h || ${1:-} = --help ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit
fi

usage_error() {
    echo "submit: $1; usage: submit.sh [--dry-run] [options of spark-submit] -- [arguments of ndcg-spark evaluate]" >&2
    exit 2
}

# The version of the Spark in a folder, by its jars; empty if it is not there.
version_in() {
    local core
    for core in "$1"/jars/spark-core_*.jar; do
        if [ -e "$core" ]; then
            core=${core##*/spark-core_} # 2.13-4.2.1.jar
            core=${core#*-}
            echo "${core%.jar}"
        fi
    done
}

# VERSION: prints what the program itself would print (ndcg_spark/errors.py), because Spark 3 does not know our options.
refuse_old_spark() {
    if [[ $1 = [0-3].* ]]; then
        echo "submit: Spark $1 is not supported, only Spark 4; run ndcg-spark beside the cluster, with the embedded" \
            "engine in a Python environment or a container of its own (pip install 'ndcg-spark[embedded]'), as the" \
            "guide ndcg_spark/guides/SPARK_3.md shows" >&2
        exit 2
    fi
}

# Before environment.sh puts .venv on the PATH.
if [ -n "${SPARK_HOME:-}" ]; then
    spark_submit=$SPARK_HOME/bin/spark-submit
    extras=embedded,hdfs
    [ -x "$spark_submit" ] || usage_error "SPARK_HOME is $SPARK_HOME, which has no bin/spark-submit"
elif spark_submit=$(command -v spark-submit); then
    extras=embedded,hdfs
    # The Spark of a Python package finds its files through the Python next to it, which .venv would hide.
    bin=$(dirname "$spark_submit")
    if [ -f "$bin/find_spark_home.py" ] && [ -x "$bin/python3" ]; then
        SPARK_HOME=$("$bin/python3" "$bin/find_spark_home.py")
        export SPARK_HOME
    fi
else
    spark_submit=$project/.venv/bin/spark-submit
    extras=dev # which have pyspark
fi

# Without SPARK_HOME, the program is in its bin folder, or a link to it there.
spark_version=$(version_in "${SPARK_HOME:-$(dirname "$(dirname "$(readlink -f "$spark_submit")")")}")
refuse_old_spark "$spark_version"

dry_run=
# Options that this script also sets: the last value of the first two wins, and values of the others are added to ours.
declare -A given=([--master]='local[*]' [--deploy-mode]=client [--py-files]='' [--archives]='' [--files]='')
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    name=${1%%=*}
    if [ "$1" = --dry-run ]; then
        dry_run=yes
    elif [ -z "${given[${name:-none}]+known}" ]; then
        options+=("$1")
    else # spark-submit takes both spellings, --name=value and --name value
        [ "$1" = "$name" ] || set -- "$name" "${1#*=}" "${@:2}"
        if [ $# -lt 2 ] || [ "$2" = -- ]; then
            usage_error "$1 lacks its value"
        fi
        case $name in
        --master | --deploy-mode) given[$name]=$2 ;;
        *) given[$name]+=,$2 ;;
        esac
        shift
    fi
    shift
done
master=${given[--master]} deploy_mode=${given[--deploy-mode]} files=${given[--files]}
py_files=${given[--py-files]} archives=${given[--archives]}
[ $# -gt 0 ] || usage_error "there is no --, which ends the options of spark-submit"
shift

if [[ $deploy_mode = cluster && $master = spark://* ]]; then
    usage_error "a standalone cluster runs no Python driver; leave --deploy-mode cluster out"
fi

log4j=file:$project/conf/log4j2.properties
python=$project/.venv/bin/python
settings=()
case $master in
local*)
    # Everything runs in this machine's environment: nothing to send, and nothing for other machines to talk to.
    settings+=(--conf "spark.pyspark.python=$python")
    settings+=(--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1)
    ;;
*)
    py_files=,$project/dist/ndcg_spark.zip$py_files
    archives=,$project/dist/ndcg_spark_env.tar.gz#environment$archives
    settings+=(--conf spark.pyspark.python=./environment/bin/python)
    if [ "$deploy_mode" = client ]; then
        # The driver stays here, with the packages installed here.
        settings+=(--conf "spark.pyspark.driver.python=$python")
    fi
    ;;
esac
case $master in
yarn*)
    # YARN puts files next to a program before it starts; elsewhere executors keep the cluster's log configuration.
    files=,$project/conf/log4j2.properties$files
    settings+=(--conf spark.executor.defaultJavaOptions=-Dlog4j2.configurationFile=log4j2.properties)
    # YARN would rerun its own driver whatever the exit code, even if a night was refused or its gate failed.
    settings+=(--conf spark.yarn.maxAppAttempts=1)
    [ "$deploy_mode" = client ] || log4j=log4j2.properties
    ;;
esac
if [ "$deploy_mode" = client ] || [ "$log4j" = log4j2.properties ]; then
    # The default options, not the extra ones: those are the cluster's.
    settings+=(--conf "spark.driver.defaultJavaOptions=\"-Dlog4j2.configurationFile=$log4j\"")
fi

command=("$spark_submit" --master "$master" --deploy-mode "$deploy_mode")
# The cluster's own spark-defaults.conf also applies where ours sets nothing.
command+=(--properties-file "$project/conf/spark-defaults.conf" --load-spark-defaults "${settings[@]}")
[ -z "$py_files" ] || command+=(--py-files "${py_files#,}")
[ -z "$archives" ] || command+=(--archives "${archives#,}")
[ -z "$files" ] || command+=(--files "${files#,}")
command+=("${options[@]}" "$project/jobs/evaluate.py" "$@")

if [ -n "$dry_run" ]; then
    printf '%q' "${command[0]}"
    printf ' %q' "${command[@]:1}"
    echo
    exit
fi
if [ -z "$spark_version" ]; then
    # The program of a distribution, such as EMR's, which starts the Spark in a different folder.
    spark_version=$("$spark_submit" --version 2>&1 | sed -n 's/.* version \([0-9][^ ]*\).*/\1/p' | head -n 1) || true
    refuse_old_spark "$spark_version"
fi
if [[ $master != local* ]]; then
    "$project/scripts/package.sh"
fi
source "$project/scripts/environment.sh" "$extras"
cd "$called_from"
# The settings above name the Python of the driver and of the executors; YARN would also send these.
unset PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON
exec "${command[@]}"
