#!/usr/bin/env bash
# Evaluates the example data set on the embedded engine and prints the table of scores; installs what that needs.
#     scripts/run-example.sh --nights [OUTPUT]    instead, four weeks of nights, to follow, explain and report
# Relative paths are those of the project's folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

if [ "${1:-}" = --nights ]; then
    exec python scripts/example_nights.py "${2:-example-nights}"
fi
exec ndcg-spark evaluate --config conf/example.toml --engine embedded "$@"
