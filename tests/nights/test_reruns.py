"""A date that is run again, among others: that night is replaced, and not a byte of another."""

import hashlib
import math

import pytest
from evaluations import evaluated
from readers import counting, seen

from ndcg_spark import config, read_scores

DATES = ["2026-11-18", "2026-11-19", "2026-11-20"]


def night(folder, date, rank, dataset="web"):
    """A night of one judged document that is returned at this rank: NDCG is 1 / log2(rank + 1)."""
    (folder / "qrels.txt").write_text("q1 0 d 1\n", encoding="utf-8")
    others = "".join(f"q1 Q0 x{place} {place} {-place} r\n" for place in range(1, rank))
    (folder / "run.txt").write_text(f"{others}q1 Q0 d {rank} {-rank} r\n", encoding="utf-8")
    paths = {"judgments": {"path": str(folder / "qrels.txt")}, "results": {"path": str(folder / "run.txt")}}
    settings = {**paths, "cutoffs": [5], "date": date, "dataset": dataset, "output": str(folder / "out")}
    return config.validate(settings, "test")


def contents(folder):
    """A hash of every file of the output, by its place; what is staged is nobody's."""
    files = (path for path in (folder / "out").rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    return {str(path.relative_to(folder / "out")): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_rerun_of_one_date_among_three_replaces_that_night_and_not_a_byte_of_another(session, tmp_path):
    for rank, date in enumerate(DATES, 1):
        evaluated(night(tmp_path, date, rank))
    evaluated(night(tmp_path, DATES[1], 2, dataset="shop"))
    before = contents(tmp_path)
    evaluated(night(tmp_path, DATES[1], 5))
    evaluated(night(tmp_path, DATES[1], 4))
    after = contents(tmp_path)
    rerun = f"dataset=web/evaluated_on={DATES[1]}"
    kept = {path: digest for path, digest in before.items() if rerun not in path}
    assert kept == {path: digest for path, digest in after.items() if rerun not in path}
    assert not {path for path in before if rerun in path} & {path for path in after if rerun in path}
    expected = sorted(1 / math.log2(rank + 1) for rank in (1, 2, 4, 3))
    nights = seen(tmp_path / "out")
    for table in ("query_scores", "dataset_scores"):
        found = sorted(row for night in nights.values() for row in night[table])
        assert sorted(float(ndcg) for _, ndcg in found) == pytest.approx(expected, abs=1e-12)
        read = read_scores(str(tmp_path / "out"), table, session).collect()
        assert sorted((row["evaluation_id"], str(row["ndcg"])) for row in read) == found
    verdicts = (
        read_scores(str(tmp_path / "out"), "evaluations", session).select("evaluation_id", "counts", "engine").collect()
    )
    assert sorted(row["evaluation_id"] for row in verdicts) == sorted(counting(tmp_path / "out"))
    assert all(row["counts"]["query_scores"] == 1 and row["engine"] for row in verdicts)
