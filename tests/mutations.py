"""One-line mutations of the program, each of which a test must notice. `scripts/check.sh` does not run it.

    python tests/mutations.py                     all of them, in about ten minutes
    python tests/mutations.py cutoff holm         those whose names have one of these words

It prints the test that kills each mutation, and ends with 1 if one survives.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_COPIED = ("ndcg_spark", "tests", "conf", "jobs", "scripts")
_SECONDS = 600


class Mutation(NamedTuple):
    name: str
    #: Below `ndcg_spark`.
    file: str
    before: str
    after: str
    #: The tests that may notice it, below `tests`.
    tests: tuple[str, ...]


_SCORING = ("scoring",)

MUTATIONS = (
    Mutation(
        "scores ascending",
        "scoring/ranking.py",
        'convention)} desc"]',
        'convention)} asc"]',
        _SCORING,
    ),
    Mutation(
        "ties in the opposite order",
        "scoring/ranking.py",
        'direction = "true" if ascending else "false"',
        'direction = "false" if ascending else "true"',
        _SCORING,
    ),
    Mutation(
        "ties by the window in the opposite order",
        "scoring/ranking.py",
        'direction = "asc" if rule.ascending else "desc"',
        'direction = "desc" if rule.ascending else "asc"',
        _SCORING,
    ),
    Mutation(
        "cutoff excluded",
        "scoring/ranking.py",
        'else f"{rank} <= {cutoff}"',
        'else f"{rank} < {cutoff}"',
        _SCORING,
    ),
    Mutation(
        "unjudged documents lost by an inner join",
        "scoring/lists.py",
        'return table.join(graded, on=document, how="left")',
        'return table.join(graded, on=document, how="inner")',
        _SCORING,
    ),
    Mutation(
        "missing queries lost by an inner join",
        "scoring/counted_queries.py",
        'joined = pairs.join(scores, on=run_key, how="left")',
        'joined = pairs.join(scores, on=run_key, how="inner")',
        _SCORING,
    ),
    Mutation(
        "runs without a judged query lost by an inner join",
        "scoring/counted_queries.py",
        'on=["dataset", "evaluated_on", "run", "at"], how="left")',
        'on=["dataset", "evaluated_on", "run", "at"], how="inner")',
        ("scoring", "job/test_job.py"),
    ),
    Mutation(
        "ideal in ascending order",
        "scoring/ideal.py",
        '"gains": "sort_array(collect_list(gain), false)"',
        '"gains": "sort_array(collect_list(gain), true)"',
        _SCORING,
    ),
    Mutation(
        "hash of judgments without the grade",
        "scoring/ideal.py",
        'F.expr("xxhash64(doc_id, relevance)")',
        'F.expr("xxhash64(doc_id)")',
        ("scoring", "spot_check", "nights"),
    ),
    Mutation(
        "minus zero is less than zero",
        "rules.py",
        "{_double(column, given)} + 0D)",
        "{_double(column, given)})",
        ("scoring", "contract", "inputs"),
    ),
    Mutation(
        "scores compared as doubles where the tool has floats",
        "scoring/ranking.py",
        'if convention.score_precision == "float32":',
        'if convention.score_precision == "float16":',
        _SCORING,
    ),
    Mutation(
        "average of ties over the whole list",
        "scoring/ranking.py",
        "group = [*key, TIE_RANK]",
        "group = [*key]",
        _SCORING,
    ),
    Mutation(
        "gain of exp2 without its minus 1",
        "convention/options.py",
        '"pow(2D, {}) - 1D"',
        '"pow(2D, {})"',
        _SCORING,
    ),
    Mutation(
        "discount one rank late",
        "convention/options.py",
        '"1D / log2({} + 1)"',
        '"1D / log2({} + 2)"',
        _SCORING,
    ),
    Mutation(
        "missing queries skipped",
        "scoring/counted_queries.py",
        'if convention.missing_query == "zero":\n        return score',
        'if convention.missing_query != "zero":\n        return score',
        _SCORING,
    ),
    Mutation(
        "pruning trusts a list whose far results tie",
        "scoring/skipping.py",
        'mixed = F.col("worst_near") <= F.col("best_far")',
        'mixed = F.col("worst_near") < F.col("best_far")',
        ("scoring", "contract"),
    ),
    Mutation(
        "pruning loses the last rank",
        "scoring/skipping.py",
        'near = F.col("rank") <= self.depth',
        'near = F.col("rank") < self.depth',
        ("scoring", "contract", "job"),
    ),
    Mutation(
        "floor one document too high",
        "scoring/skipping.py",
        "F.get(descending, F.lit(self.depth - 1))",
        "F.get(descending, F.lit(self.depth - 2))",
        ("scoring", "contract", "job"),
    ),
    Mutation(
        "fingerprint of rows that occur twice",
        "contract/scan.py",
        '"hash": F.sum(F.shiftright("row", 24)),',
        '"hash": F.max(F.shiftright("row", 24)),',
        ("contract", "job"),
    ),
    Mutation(
        "Holm without the family",
        "comparison/statistics.py",
        "np.maximum.accumulate(ascending * (count + 1 - rank))",
        "np.maximum.accumulate(ascending)",
        ("comparison", "gate"),
    ),
    Mutation(
        "Holm without its order",
        "comparison/statistics.py",
        "np.maximum.accumulate(ascending * (count + 1 - rank))",
        "ascending * (count + 1 - rank)",
        ("comparison", "gate"),
    ),
    Mutation(
        "checks that warn weaken those that fail",
        "gate/results.py",
        "own = [case for case in cases if case.check.severity == severity]",
        "own = list(cases)",
        ("gate",),
    ),
    Mutation(
        "a drop that is not tested passes",
        "gate/results.py",
        'return Outcome(NOT_COMPARABLE, "not_measured", f"{sentence}, but it could not be tested")',
        "return Outcome(PASS, None, sentence)",
        ("gate",),
    ),
    Mutation(
        "p values on the wrong side of alpha",
        "gate/results.py",
        "    if p < gate.alpha:",
        "    if p > gate.alpha:",
        ("gate",),
    ),
    Mutation(
        "one side of a change is enough to fail",
        "gate/results.py",
        "    if words == {FAIL}:",
        "    if FAIL in words:",
        ("gate",),
    ),
    Mutation(
        "a drop allowed in the wrong direction",
        "gate/results.py",
        'numbers["difference"] < -allowed - error',
        'numbers["difference"] > allowed + error',
        ("gate",),
    ),
    Mutation(
        "a rise of the catalog fails nothing",
        "gate/results.py",
        "        return ROSE\n",
        "        return None\n",
        ("gate/test_catalog_checks.py",),
    ),
    Mutation(
        "other items are among the good nights",
        "comparison/sources.py",
        "        if other_catalog(tonight, night, measure) is None:\n",
        "        if night is not None:\n",
        ("gate/test_catalog_checks.py",),
    ),
    Mutation(
        "a number of a run needs a p value",
        "gate/results.py",
        "        return Outcome(FAIL, beyond, sentence)\n    return _rule",
        "        return _rule_of_change(gate, None, beyond, sentence)\n    return _rule",
        ("gate/test_catalog_checks.py",),
    ),
    Mutation(
        "a check of the catalog hides that relevance falls",
        "gate/decide.py",
        "not check.weighted and not check.is_of_catalog",
        "not check.weighted",
        ("gate/test_catalog_checks.py",),
    ),
    Mutation(
        "a slice is held to the limit of the catalog",
        "gate/slices.py",
        "        if check.is_of_catalog:\n            continue\n",
        "",
        ("gate/test_catalog_checks.py",),
    ),
    Mutation(
        "more of the catalog is better on a page",
        "report/compared_page.py",
        'below, above = conclusion_words(row["measure"])',
        'below, above = "worse", "better"',
        ("report/test_catalog_page.py",),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    words = parser.parse_args(arguments).words
    survived = 0
    for mutation in MUTATIONS:
        if words and not any(word in mutation.name for word in words):
            continue
        killer = killed_by(mutation)
        survived += killer is None
        sys.stdout.write(f"{mutation.name}: {killer or 'SURVIVED'}\n")
        sys.stdout.flush()
    return int(survived > 0)


def killed_by(mutation: Mutation) -> str | None:
    """The first test that fails with a mutation; None if all pass."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_project(copy)
        mutate(copy / "ndcg_spark" / mutation.file, mutation)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2"]
        tests = [str(copy / "tests" / name) for name in mutation.tests]
        ended = subprocess.run(
            [*command, *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    if failed is None and ended.returncode:
        raise RuntimeError(f"{mutation.name}: pytest ended with {ended.returncode}\n{ended.stdout}")
    return failed[1] if failed else None


def copy_project(copy: Path) -> None:
    copy.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in _COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=ignored, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements.txt"):
        shutil.copy(ROOT / name, copy / name)
    shared = ROOT.parent / "shared"
    if shared.exists():
        (copy.parent / "shared").symlink_to(shared)


def mutate(file: Path, mutation: Mutation) -> None:
    """RuntimeError unless the line is there exactly once: the mutation is then out of date."""
    text = file.read_text(encoding="utf-8")
    found = text.count(mutation.before)
    if found != 1 or mutation.before == mutation.after:
        raise RuntimeError(f"{mutation.name}: {mutation.file} has the line {found} times")
    file.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
