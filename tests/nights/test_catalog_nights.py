"""Nights with measures of the catalog: what the log keeps, and what is compared with what."""

import json

import pytest
import shown
from commands import command_line
from pyarrow import csv, parquet
from pyarrow import dataset as folders

MEASURES = "nDCG@5 Novelty@5 Popularity@5 Coverage@5"


@pytest.fixture
def folder(tmp_path):
    judged, returned, items = shown.tables(shown.shop(21, runs=2, queries=30))
    for name, table in (("qrels", judged), ("runs", returned)):
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    csv.write_csv(items, tmp_path / "items.csv")
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
        ("other.csv", MEASURES, "has other items, which novelty looks up"),
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


@pytest.mark.embedded
def test_what_only_runs_have_is_refused_where_queries_are_compared(session, folder):
    publish(folder, "2026-11-18")
    asked = ["compare", "out", "--baseline", "r0", "--measures", "coverage@5"]
    done = command_line(*asked, cwd=folder)
    assert done.returncode == 2
    assert "coverage is of all lists of a run" in done.stderr


@pytest.mark.embedded
@pytest.mark.parametrize("measure", ["novelty", "coverage"])
def test_a_check_of_a_gate_does_not_take_what_is_of_the_catalog(session, folder, measure):
    (folder / "gate.toml").write_text(
        f'[gate]\n[[gate.check]]\nmeasure = "{measure}"\ncutoff = 5\nmax_drop = 0.1\n'
    )
    catalog = ["--items", "items.csv", "--items-users", 50, "--measures", MEASURES]
    asked = ["evaluate", "qrels.csv", "runs.csv", *catalog, "--config", "gate.toml"]
    done = command_line(*asked, "--output", "out", cwd=folder)
    assert done.returncode == 2
    assert f"{measure} is of the catalog" in done.stderr
