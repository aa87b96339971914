#!/usr/bin/env bash
# Evaluates the example dataset on the embedded engine and prints the table of scores; installs what this needs.
#     scripts/run-example.sh --nights [OUTPUT]    evaluates four weeks of nights instead, to try trend, explain and report
# Relative paths start at the project's folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

if [ "${1:-}" = --nights ]; then
    exec python scripts/example_nights.py "${2:-example-nights}"
fi
exec ndcg-spark evaluate --config conf/example.toml --engine embedded "$@"
