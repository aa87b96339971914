#!/usr/bin/env bash
# Builds the documentation site in dist/site: the guides, the Python API and the notebooks, which it runs. Fails if a link or
# an anchor is broken. Installs its requirements into .venv/docs; after that, it needs no network.
set -euo pipefail
# Otherwise, a different checkout on this path would be documented.
unset PYTHONPATH
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

install_docs() {
    python -m venv .venv/docs
    .venv/docs/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv/constraints.txt \
        --requirement conf/site/requirements.txt --editable '.[spark]' >&2 || fail "docs: pip could not install"
}
stamped docs conf/site/requirements.txt .venv/constraints.txt pyproject.toml -- install_docs

# Every page is read again, because Sphinx does not repeat errors for unchanged pages. The notebooks' kernel is
# the first `python` on the path.
rm -rf dist/site
PATH="$PWD/.venv/docs/bin:$PATH" sphinx-build --quiet --fresh-env --fail-on-warning --keep-going \
    --conf-dir conf/site --doctree-dir .venv/docs/doctrees . dist/site
echo "docs: built dist/site; python -m http.server --directory dist/site shows it" >&2
