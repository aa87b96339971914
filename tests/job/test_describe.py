"""`describe`: what results show of the catalog, without judgments."""

import json

import pytest
import shown
from commands import command_line
from sessions import on_spark

from ndcg_spark.convention.measures import RUN_COLUMNS

OF_LISTS = ("novelty", "popularity", "categories")


@pytest.fixture
def files(tmp_path):
    shop = shown.shop(11)
    shown.write_files(shop, tmp_path)
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


def test_without_items_what_needs_none_is_shown(files):
    shop, folder = files
    rows = described(folder, "--cutoffs", "3")
    assert set(rows["r0", 3]) == {"dataset", "run", "cutoff", "items", "personalization", "lists"}
    assert rows["r0", 3]["items"] == shown.of_run(shop, "r0", {}, 3).items


@pytest.mark.parametrize(
    ("measures", "code", "reason"),
    [
        ("P@5 Items@5", 2, "precision needs judgments"),
        ("Coverage@5", 2, "coverage needs the catalog's items; give --items FILE, or"),
    ],
)
def test_what_is_not_there_is_named(files, measures, code, reason):
    said = command_line("describe", "runs.csv", "--measures", measures, cwd=files[1])
    assert said.returncode == code
    assert reason in said.stderr


@pytest.mark.parametrize(
    "measures", on_spark(["Items@5", "Items@5 Popularity@5"], "Items@5 Popularity@5")
)
def test_an_item_that_is_shown_twice_in_a_list_is_counted_and_refused(session, tmp_path, measures):
    (tmp_path / "runs.csv").write_text("run,query_id,doc_id,score\nr,u,a,2\nr,u,a,1\n")
    (tmp_path / "items.csv").write_text("doc_id,popularity\na,2\n")
    asked = ["--measures", measures, "--items", "items.csv"]
    said = command_line("describe", "runs.csv", *asked, cwd=tmp_path)
    assert said.returncode == 3
    assert "1 document(s) returned twice for one query, e.g. run=r query_id=u" in said.stderr


def test_interactions_tell_how_popular_what_is_shown_is(session, files):
    _, folder = files
    (folder / "used.csv").write_text("user,item\nu,i0\nv,i0\nv,i1\n")
    rows = described(folder, "--interactions", "used.csv", "--cutoffs", "3")
    assert {"novelty", "popularity", *RUN_COLUMNS} <= set(rows["r0", 3])


CONFIG = """
measures = {measures}
[judgments]
path = "never-read.csv"
[results]
path = "runs.csv"
columns = {{doc_id = "doc_id"}}
[items]
path = "items.csv"
users = {users}
"""


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ('["nDCG@2", "Coverage(unknown=count)@2", "Novelty@2"]', ["novelty", "coverage"]),
        ('["nDCG@2", "P@2"]', list(RUN_COLUMNS)),
    ],
)
def test_a_configuration_of_an_evaluation_says_what_the_catalog_is(files, measures, expected):
    shop, folder = files
    text = CONFIG.format(measures=measures, users=shop.users)
    (folder / "night.toml").write_text(text)
    said = command_line("describe", "--config", "night.toml", "--format", "json", cwd=folder)
    assert said.returncode == 0, said.stderr
    row = next(one for one in json.loads(said.stdout) if one["run"] == "r0")
    assert [name for name in (*OF_LISTS, *RUN_COLUMNS) if name in row] == expected
    options = {"coverage_unknown": "count"} if "novelty" in expected else {}
    assert row["coverage"] == shown.of_run(shop, "r0", options, row["cutoff"]).coverage


def test_measures_that_are_asked_for_go_before_those_of_a_configuration(files):
    shop, folder = files
    text = CONFIG.format(measures='["Coverage@2"]', users=shop.users)
    (folder / "night.toml").write_text(text)
    asked = ["--config", "night.toml", "--measures", "Items@3", "--format", "json"]
    said = command_line("describe", "runs.csv", *asked, cwd=folder)
    assert [row["cutoff"] for row in json.loads(said.stdout)] == [3] * len(shop.lists)
    refused = command_line("describe", "--measures", "Items@3", cwd=folder)
    assert refused.returncode == 2
    assert "results" in refused.stderr


def test_what_is_printed_says_what_the_numbers_are(files):
    asked = ["--items", "items.csv", "--measures", "Coverage(unknown=count)@3 Items@3"]
    said = command_line("describe", "runs.csv", *asked, cwd=files[1])
    table, definitions = said.stdout.split("\n\n")
    for line in definitions.splitlines()[:2]:
        assert line.partition(":")[0] in ("coverage", "items")
    assert "so it may exceed 1" in definitions
    shown_items = table.splitlines()[1].split()
    # A number of items has no decimals.
    assert any(cell.isdigit() for cell in shown_items[1:3])


def test_several_cutoffs_have_a_line_each_and_not_a_column(files):
    shop, folder = files
    said = command_line("describe", "runs.csv", "--cutoffs", "1,2,all", cwd=folder)
    header, *lines = said.stdout.partition("\n\n")[0].splitlines()
    assert header.split() == ["run", "cutoff", "items", "personalization", "lists"]
    assert len(lines) == 3 * len(shop.lists)
    # Each has its own.
    said = command_line("describe", "runs.csv", "--measures", "Items@1 Items@3", cwd=folder)
    assert [line.split()[1] for line in said.stdout.splitlines()[1:3]] == ["1", "3"]
    said = command_line(
        "describe", "runs.csv", "--measures", "Items@1 Personalization@3", cwd=folder
    )
    assert said.stdout.splitlines()[0].split()[:3] == ["run", "items@1", "personalization@3"]
