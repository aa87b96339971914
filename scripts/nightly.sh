#!/usr/bin/env bash
# Evaluates one night, for cron. Running it again for the same night replaces that night:
#
#     scripts/nightly.sh [YYYY-MM-DD] [CONFIG.toml] [options of ndcg-spark evaluate]
#     30 2 * * *  cd /opt/ndcg_spark && scripts/nightly.sh >>/var/log/ndcg_spark.log 2>&1
#
# The date is yesterday in UTC by default: the last day that is over, as in Airflow's {{ ds }}. The configuration is
# conf/nightly.toml by default. If files have not arrived, the exit code is 3; the recipes show how to wait for them.
#
#     NDCG_SPARK_SUBMIT    options of scripts/submit.sh, e.g. '--master yarn', to submit the evaluation with.
#                          Without it, this machine computes, as the configuration says.
#     NDCG_SPARK_EXTRAS    what to install in addition to the engine, e.g. 'delta,hdfs'
#     NDCG_SPARK_EXPORT    tables to which a published night is copied, e.g. delta:/data/tables
#
# Prints one line to stderr at the beginning and one at the end, as JSON with --log-format json; with --quiet only one at
# the end, and only if the exit code is not 0. The exit code is the job's (REFERENCE.md): 5 and 6 come from a gate, and the
# night is published; 75 means that the same configuration is already running and nothing was done. In a checkout of the
# project, missing packages are installed first: 2 if that is impossible, 4 if pip fails. Elsewhere, in a folder that
# ndcg-spark init has written, ndcg-spark must be on the PATH, or in a folder .venv next to scripts (otherwise 2).
set -euo pipefail

called_from=$PWD
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [[ ${1:-} = -h || ${1:-} = --help ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit
fi
engine=embedded${NDCG_SPARK_EXTRAS:+,$NDCG_SPARK_EXTRAS}

# Only a checkout has the scripts that install the program and submit it to a cluster.
in_checkout() { [[ -e $project/scripts/environment.sh ]]; }
is_installed() { ! in_checkout || [[ -x $project/.venv/bin/ndcg-spark ]]; }
use_installation() {
    if in_checkout; then
        source "$project/scripts/environment.sh" "$engine"
    fi
    cd "$called_from"
}
if ! in_checkout; then
    export PATH="$project/.venv/bin:$PATH"
fi

given=" $* "
tell() { # LEVEL TEXT
    if [[ $1 = info && $given = *" --quiet "* ]]; then
        return
    fi
    if [[ $given =~ \ --log-format[\ =]json\  ]]; then
        local text=${2//\\/\\\\}
        printf '{"time": "%s", "level": "%s", "step": "nightly", "message": "%s"}\n' \
            "$(date -u -Iseconds)" "$1" "${text//\"/\\\"}" >&2
    else
        printf '%s %-7s nightly: %s\n' "$(date -u -Iseconds)" "${1^^}" "$2" >&2
    fi
}

night=$(date -u -d yesterday +%F)
if [[ ${1:-} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]]; then
    night=$1
    shift
fi
config=$project/conf/nightly.toml
if [[ ${1:-} = *.toml ]]; then
    config=$1
    shift
fi
if [[ ${1:--} != -* ]]; then
    tell error "unexpected argument '$1'; give [YYYY-MM-DD] [CONFIG.toml], then options"
    exit 2
fi
for argument; do
    # Otherwise a different configuration would be locked, and a different night reported, than the one that is evaluated.
    if [[ $argument =~ ^--(config|date)(=|$) ]]; then
        tell error "$argument: the date and the configuration are not options here; give [YYYY-MM-DD] [CONFIG.toml], then options"
        exit 2
    fi
done
if [[ -n ${NDCG_SPARK_SUBMIT:-} && $given =~ \ --engine[\ =]embedded\  ]]; then
    tell error "--engine embedded computes on this machine, and NDCG_SPARK_SUBMIT submits to another; leave one of them out"
    exit 2
fi
if [ ! -r "$config" ]; then
    tell error "$config: cannot be read; give [YYYY-MM-DD] [CONFIG.toml]"
    exit 2
fi

if ! in_checkout; then
    if ! command -v ndcg-spark >/dev/null; then
        tell error "ndcg-spark is not on the PATH; put it there, or install it into $project/.venv"
        exit 2
    elif [[ -n ${NDCG_SPARK_SUBMIT:-} ]]; then
        tell error "NDCG_SPARK_SUBMIT needs scripts/submit.sh, which only a checkout of the project has"
        exit 2
    fi
fi

# The configuration itself is locked: no lock file can be left behind, and two configurations never wait for each other.
# The job inherits the lock, so it is held until the job has ended, whatever happens to this script.
exec 9<"$config"
locked=0
flock --nonblock 9 || locked=$?
if ((locked > 1)); then
    tell error "$config: flock cannot lock it (exit code $locked); install util-linux, or put it on a local disk"
    exit 2
elif ((locked)); then
    tell error "$config: already being evaluated, so nothing was done; wait for it to finish (fuser -v $config shows the process)"
    exit 75
fi

submit_options=()
read -ra submit_options <<<"${NDCG_SPARK_SUBMIT:-}"
arguments=(--config "$config" --date "$night" "$@")
run() {
    if [ ${#submit_options[@]} -gt 0 ]; then
        exec "$project/scripts/submit.sh" "${submit_options[@]}" -- "${arguments[@]}"
    fi
    use_installation
    exec ndcg-spark evaluate "${arguments[@]}"
}

# The evaluation writes the text for people here, as on_end receives it.
ended=$(mktemp) || ended=
trap 'rm -f "$ended"' EXIT
export NDCG_SPARK_ENDED=$ended

tell info "begin $night $config"
run &
job=$!
# Signals to this script are passed on to the job, and the end of the job is still reported.
trap 'kill -TERM "$job" 2>/dev/null || true' TERM INT HUP
code=0
# If a signal ends the job, the last line reports it, and not bash.
wait "$job" 2>/dev/null || code=$?
while kill -0 "$job" 2>/dev/null; do # a signal ends a wait early
    code=0
    wait "$job" 2>/dev/null || code=$?
done
trap - TERM INT HUP
# This does what the job cannot do itself, if it was installed: run on_end after a signal, and export what it has published.
# 141 is not a signal to report: nobody reads its stdout.
if is_installed && [[ ($code -gt 128 && $code -ne 141) || (-n ${NDCG_SPARK_EXPORT:-} && $code = [056]) ]]; then
    (
        use_installation
        # Stdout contains only what the evaluation has printed.
        NDCG_SPARK_ENDED="" ndcg-spark finish --exit-code "$code" "${arguments[@]}" >/dev/null
    ) || tell error "$night $config: the step after the evaluation failed, see above; the exit code is still $code"
fi
level=error
case $code in
    0) level=info meaning="" ;;
    5) meaning=", published, the gate failed" ;;
    6) level=warning meaning=", published, the gate came to no verdict" ;;
    137) meaning=", killed, often because of too little memory; earlier nights are intact; run it again" ;;
    129 | 13? | 140 | 14[2-9]) meaning=", ended by a signal; earlier nights are intact; run it again" ;;
    *) meaning="" ;;
esac
said=
if [[ -n $ended && -s $ended ]]; then
    # On one line.
    said=": $(sed -z 's/\n$//; s/\n/ | /g' "$ended")"
fi
tell "$level" "end $night $config after $SECONDS s: exit code $code$meaning$said"
exit "$code"
