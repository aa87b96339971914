#!/usr/bin/env bash
# Evaluates the example data set on the embedded engine and prints the table of scores; installs what that needs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

exec ndcg-spark evaluate --config conf/example.toml --engine embedded "$@"
