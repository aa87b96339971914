"""Nights with measures of the catalog: what the log keeps, and what is compared with what."""

import json

import pytest
import shown
from commands import command_line
from pyarrow import dataset as folders
from pyarrow import parquet

MEASURES = "nDCG@5 Novelty@5 Popularity@5 Coverage@5"


@pytest.fixture
def folder(tmp_path):
    shown.write_files(shown.shop(21, runs=2, queries=30), tmp_path)
    return tmp_path


def publish(folder, date, items="items.csv", measures=MEASURES):
    catalog = ["--items", items, "--items-users", 50, "--measures", measures]
    night = ["--output", "out", "--date", date]
    said = command_line("evaluate", "qrels.csv", "runs.csv", *catalog, *night, cwd=folder)
    assert said.returncode == 0, said.stderr


def said(folder, *arguments):
    done = command_line(*arguments, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def with_other_items(folder):
    text = (folder / "items.csv").read_text()
    (folder / "other.csv").write_text(text + "more,1,1,x\n")
    return "other.csv"


def test_the_log_keeps_the_fingerprint_of_the_items(session, folder):
    publish(folder, "2026-11-18")
    publish(folder, "2026-11-19", with_other_items(folder))
    log = folders.dataset(folder / "out/evaluations", partitioning="hive").to_table()
    inputs = [json.loads(text)["items"] for text in log["inputs"].to_pylist()]
    assert len({entry["fingerprint"] for entry in inputs}) == 2
    assert {entry["users"] for entry in inputs} == {50}
    files = (folder / "out/dataset_scores").rglob("*.parquet")
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert all(row["coverage"] is not None and row["lists"] for row in rows)


@pytest.mark.embedded
def test_more_is_higher_and_not_better(session, folder):
    publish(folder, "2026-11-18")
    text = (folder / "runs.csv").read_text().replace(",-0.0", ",-9.0")
    (folder / "runs.csv").write_text(text)
    publish(folder, "2026-11-19")
    against = ["--baseline-date", "2026-11-18", "--measures", "novelty@5 popularity@5"]
    rows = said(folder, "compare", "out", *against)["comparisons"]
    assert {row["measure"] for row in rows} == {"novelty", "popularity"}
    assert {row["conclusion"] for row in rows} <= {"higher", "lower", "cannot_tell", "same"}
    assert not any(row["unpaired_queries"] for row in rows)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("items", "measures", "reason"),
    [
        ("other.csv", MEASURES, "table of items differs from that of 2026-11-18; novelty was not"),
        ("items.csv", "nDCG@5 Novelty(unseen=drop)@5", "unseen=one there and drop here"),
    ],
)
def test_other_items_or_options_are_not_compared(session, folder, items, measures, reason):
    publish(folder, "2026-11-18")
    with_other_items(folder)
    publish(folder, "2026-11-19", items, measures)
    against = ["--baseline-date", "2026-11-18", "--measures", "ndcg@5 novelty@5"]
    compared = said(folder, "compare", "out", *against)
    assert {row["measure"] for row in compared["comparisons"]} == {"ndcg"}
    assert any(reason in warning for warning in compared["warnings"])


@pytest.mark.embedded
def test_the_line_of_a_trend_breaks_at_other_items_where_they_are_looked_up(session, folder):
    publish(folder, "2026-11-18")
    publish(folder, "2026-11-19", with_other_items(folder))
    asked = ["trend", "out", "--run", "r0", "--format", "csv", "--measures", "ndcg@5,coverage@5"]
    done = command_line(*asked, cwd=folder)
    assert done.returncode == 0, done.stderr
    header, *lines = done.stdout.splitlines()
    names = header.split(",")
    rows = [dict(zip(names, line.split(","), strict=False)) for line in lines]
    breaks = {row["measure"]: row["breaks"] for row in rows if row["evaluated_on"] == "2026-11-19"}
    assert breaks == {"ndcg": "", "coverage": "items"}


def coverage(folder, date):
    """The coverage of each run of a night, from its table."""
    files = (folder / f"out/dataset_scores/evaluated_on={date}").rglob("*.parquet")
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    return {row["run"]: row["coverage"] for row in rows if row["attribute"] is None}


def without(folder, document):
    """Results without an item."""
    lines = (folder / "runs.csv").read_text().splitlines(keepends=True)
    (folder / "runs.csv").write_text("".join(one for one in lines if f",{document}," not in one))


def shown_items(folder):
    header, *lines = (folder / "runs.csv").read_text().splitlines()
    at = header.split(",").index("doc_id")
    return sorted({line.split(",")[at] for line in lines})


@pytest.mark.embedded
def test_a_number_of_a_run_is_compared_without_a_test(session, folder):
    publish(folder, "2026-11-18")
    for item in shown_items(folder)[:5]:
        without(folder, item)
    publish(folder, "2026-11-19")
    now, before = coverage(folder, "2026-11-19"), coverage(folder, "2026-11-18")
    against = ["--baseline-date", "2026-11-18", "--measures", "coverage@5 ndcg@5"]
    rows = said(folder, "compare", "out", *against)["comparisons"]
    found = {row["run"]: row for row in rows if row["measure"] == "coverage"}
    assert {row["measure"] for row in rows} == {"coverage", "ndcg"}
    for run in ("r0", "r1"):
        row = found[run]
        assert (row["mean"], row["baseline_mean"]) == (now[run], before[run])
        assert row["difference"] == now[run] - before[run]
        assert row["conclusion"] == ("lower" if now[run] < before[run] else "same")
        assert "one_number" in row["flags"]
        tests = ("p_value", "p_randomization", "p_decides", "interval_low", "queries", "wins")
        assert {row[name] for name in tests} == {None}
    (row,) = said(folder, "compare", "out", "--baseline", "r0", "--measures", "coverage@5")[
        "comparisons"
    ]
    assert row["difference"] == now["r1"] - now["r0"]


@pytest.mark.embedded
def test_a_number_of_other_items_is_not_compared(session, folder):
    publish(folder, "2026-11-18")
    publish(folder, "2026-11-19", with_other_items(folder))
    against = ["--baseline-date", "2026-11-18", "--measures"]
    compared = said(folder, "compare", "out", *against, "ndcg@5 coverage@5")
    assert {row["measure"] for row in compared["comparisons"]} == {"ndcg"}
    assert any("coverage was not compared" in warning for warning in compared["warnings"])
    alone = command_line("compare", "out", *against, "coverage@5", cwd=folder)
    assert alone.returncode == 2


@pytest.mark.embedded
def test_a_gate_holds_what_runs_show(session, folder):
    (folder / "gate.toml").write_text(
        "[gate]\nmin_queries = 2\n"
        '[[gate.check]]\nmeasure = "coverage"\ncutoff = 5\nmax_relative_drop = 0.1\n'
        '[[gate.check]]\nmeasure = "novelty"\ncutoff = 5\nmax_rise = 100\n'
    )
    (folder / "metrics").mkdir()

    def night(date, items="items.csv", *more):
        catalog = ["--items", items, "--items-users", 50, "--measures", MEASURES]
        files = ["--junit", "gate.xml", "--metrics-file", "metrics"]
        asked = ["qrels.csv", "runs.csv", *catalog, "--config", "gate.toml", *files, *more]
        done = command_line("evaluate", *asked, "--output", "out", "--date", date, cwd=folder)
        return done.returncode, (folder / "gate.xml").read_text()

    assert night("2026-11-18", "items.csv", "--accept-baseline", "first")[0] == 0
    assert night("2026-11-19")[0] == 0
    other = with_other_items(folder)
    code, junit = night("2026-11-20", other)
    assert (code, junit.count('<error type="other_items"')) == (6, 4)
    assert night("2026-11-20", other, "--accept-baseline", "new items")[0] == 0
    for item in shown_items(folder)[len(shown_items(folder)) // 2 :]:
        without(folder, item)
    code, junit = night("2026-11-21", other)
    assert code == 5
    assert '<failure type="dropped" message="coverage@5 of r' in junit
    (metrics,) = (folder / "metrics").iterdir()
    value = coverage(folder, "2026-11-21")["r0"]
    assert f'run="r0",cutoff="5",measure="coverage"}} {value!r}' in metrics.read_text()


def test_an_evaluation_beside_a_run_compares_numbers_too(folder):
    catalog = ["--items", "items.csv", "--items-users", 50, "--measures", MEASURES]
    found = said(folder, "evaluate", "qrels.csv", "runs.csv", *catalog, "--baseline", "r0")
    compared = {row["measure"]: row for row in found["comparisons"]}
    assert [*compared] == ["ndcg", "novelty", "popularity", "coverage"]
    numbers = {row["run"]: row["coverage"] for row in found["dataset_scores"]}
    assert compared["coverage"]["difference"] == numbers["r1"] - numbers["r0"]
    assert compared["coverage"]["flags"][0] == "one_number"
