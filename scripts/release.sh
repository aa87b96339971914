#!/usr/bin/env bash
# Builds the wheel and the source distribution of a release in dist/release and tries them as a new user would: metadata
# and long description, size, every extra in a clean environment, and the README's commands outside the checkout.
# .github/RELEASING.md describes the rest of a release. Changes nothing else, and publishes nothing.
set -euo pipefail
unset PYTHONPATH
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh" embedded

# The code has 0.8 MB; a much larger wheel contains a file that does not belong there.
most_bytes=$((1024 * 1024))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tell() {
    echo "release: $1" >&2
}

# Creates a clean environment at a path, with these packages.
environment() {
    python -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}" >&2
}

environment "$work/tools" build twine
rm -rf dist/release
"$work/tools/bin/python" -m build --outdir dist/release . >"$work/build.log" 2>&1 || fail "release: $(tail -5 "$work/build.log")"
"$work/tools/bin/twine" check --strict dist/release/* >&2
version=$(ndcg-spark --version | cut -d' ' -f2)
wheel=$PWD/dist/release/ndcg_spark-$version-py3-none-any.whl
[ -f "$wheel" ] || fail "release: dist/release has no wheel of version $version"
size=$(stat --format %s "$wheel")
[ "$size" -le "$most_bytes" ] || fail "release: the wheel has $size bytes, more than $most_bytes"
grep --quiet "^## $version" ndcg_spark/guides/CHANGELOG.md || fail "release: the changelog has no part for $version"
python -m zipfile --list "$wheel" >"$work/listed"
for part in dist-info/METADATA dist-info/licenses/LICENSE ndcg_spark/py.typed ndcg_spark/report/page.html.j2; do
    grep --quiet "$part" "$work/listed" || fail "release: the wheel lacks $part"
done

# The commands of a guide, without those that need a server.
commands() {
    sed -n '/^```sh$/,/^```$/p' "$1" | grep '^ndcg-spark ' | grep --invert-match -e '--remote' -e nightly.toml
}

for extra in embedded spark delta iceberg hdfs; do
    environment "$work/$extra" "$wheel[$extra]"
    "$work/$extra/bin/python" -m pip check >&2
    (cd "$work" && "$work/$extra/bin/ndcg-spark" --version >&2)
    tell "installed with [$extra]"
done
checkout=$PWD
mkdir -p "$work/elsewhere/tests"
cp -r conf scripts "$work/elsewhere"
cp -r tests/golden "$work/elsewhere/tests"
cd "$work/elsewhere"
export PATH="$work/embedded/bin:$PATH"
python scripts/example_nights.py "$work/nights" 2>"$work/said" || fail "release: $(tail -5 "$work/said")"
while IFS= read -r command; do
    command=${command//\/tmp\/scores/$work/scores}
    command=${command//\/tmp\/nights/$work/nights}
    command=${command//\/tmp\/shop/$work/shop}
    tell "$command"
    bash -c "$command" >"$work/said" 2>&1 || fail "release: exit code $?; $(tail -5 "$work/said")"
done < <(commands "$checkout/README.md")
# The library in a program without a file, where pyspark behaves differently.
sed -n '/^```python$/,/^```$/{/^```/d;p}' "$checkout/README.md" | python - >"$work/said" 2>&1 ||
    fail "release: the README's Python ends with exit code $?; $(tail -5 "$work/said")"
tell "dist/release has $version, a wheel of $((size / 1024)) KB; .github/RELEASING.md says what comes next"
