"""`describe`: what results show of the catalog, without judgments."""

import json

import pytest
import shown
from commands import command_line
from pyarrow import csv

from ndcg_spark.convention.measures import RUN_COLUMNS

OF_LISTS = ("novelty", "popularity", "categories")


@pytest.fixture
def files(tmp_path):
    shop = shown.shop(11)
    lines = ["run,query_id,doc_id,score"]
    _, returned, items = shown.tables(shop)
    for row in zip(*returned.values(), strict=True):
        lines.append(",".join(map(str, row)))
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    csv.write_csv(items, tmp_path / "items.csv")
    return shop, tmp_path


def described(folder, *arguments):
    said = command_line("describe", "runs.csv", *arguments, "--format", "json", cwd=folder)
    assert said.returncode == 0, said.stderr
    return {(row["run"], row["cutoff"]): row for row in json.loads(said.stdout)}


def test_all_lists_count_for_the_measures_of_queries_too(session, files):
    shop, folder = files
    asked = ["--items", "items.csv", "--items-users", shop.users, "--cutoffs", "2,all"]
    measures = ",".join([*OF_LISTS, *RUN_COLUMNS])
    rows = described(folder, *asked, "--measures", measures)
    assert len(rows) == len(shop.lists) * 2
    for (run, cutoff), row in rows.items():
        of_run = shown.of_run(shop, run, {}, cutoff)
        expected = {name: getattr(of_run, name) for name in (*RUN_COLUMNS, "lists")}
        for name in OF_LISTS:
            values = []
            for own in shop.lists[run].values():
                value = shown.of_list(shop, own, {}, cutoff)[name]
                if value is not None:
                    values.append(value)
            expected[name] = sum(values) / len(values)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        assert row["unknown_items"] == of_run.unknown


def test_without_items_what_needs_none_is_shown(session, files):
    shop, folder = files
    rows = described(folder, "--cutoffs", "3")
    assert set(rows["r0", 3]) == {"dataset", "run", "cutoff", "items", "personalization", "lists"}
    assert rows["r0", 3]["items"] == shown.of_run(shop, "r0", {}, 3).items


@pytest.mark.parametrize(
    ("measures", "code", "reason"),
    [
        ("P@5", 2, "precision needs judgments"),
        ("Coverage@5", 2, "coverage needs the items of the catalog; give --items FILE, or"),
    ],
)
def test_what_is_not_there_is_named(session, files, measures, code, reason):
    said = command_line("describe", "runs.csv", "--measures", measures, cwd=files[1])
    assert said.returncode == code
    assert reason in said.stderr


@pytest.mark.parametrize("measures", ["Items@5", "Items@5 Popularity@5"])
def test_an_item_that_is_shown_twice_in_a_list_is_counted_and_refused(session, tmp_path, measures):
    (tmp_path / "runs.csv").write_text("run,query_id,doc_id,score\nr,u,a,2\nr,u,a,1\n")
    (tmp_path / "items.csv").write_text("doc_id,popularity\na,2\n")
    asked = ["--measures", measures, "--items", "items.csv"]
    said = command_line("describe", "runs.csv", *asked, cwd=tmp_path)
    assert said.returncode == 3
    assert "1 document(s) returned twice for one query, e.g. run=r query_id=u" in said.stderr
