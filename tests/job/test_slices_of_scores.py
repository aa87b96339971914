"""Evaluations whose queries are cut into slices: what is printed, kept, read again, shown and refused."""

import csv
import io
import json
import math
import statistics

import pytest
from commands import command_line

from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_dataset_scores, read_rows

DISCOUNTED = 1 / math.log2(3)
#: The document of each query is at rank 1 or 2, or not returned.
RANKS = {"first": {"q1": 1, "q2": 2, "q3": None}, "second": {"q1": 2, "q2": 2, "q3": 1}}
NDCG = {None: 0.0, 1: 1.0, 2: DISCOUNTED}
#: q1 has two values of an attribute, q3 has none of the other; q9 is not judged.
SLICES = "query_id,attribute,value\nq1,language,de\nq1,language,en\nq2,language,de\nq3,language,en\nq1,size,big\n"
TABLES = {"judgments": "qrels.txt", "results": "runs.txt", "query_attributes": "slices.csv"}
#: By slice, its queries.
QUERIES = {
    ("language", "de"): ["q1", "q2"],
    ("language", "en"): ["q1", "q3"],
    ("size", "(none)"): ["q2", "q3"],
    ("size", "big"): ["q1"],
}


def results():
    for run, ranks in RANKS.items():
        for query, rank in ranks.items():
            if rank is not None:
                listed = ["x", "a"] if rank == 2 else ["a"]
                yield from (
                    f"{query} Q0 {doc} {at} {9 - at} {run}\n" for at, doc in enumerate(listed, 1)
                )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slices")
    files = {
        "qrels.txt": "".join(f"q{n} 0 a 1\n" for n in (1, 2, 3)),
        "runs.txt": "".join(results()),
        "slices.csv": SLICES,
        "unknown.csv": "query_id,language\nq8,de\nq9,en\n",
        "broken.csv": "query_id,attribute,value\nq1,language,de\nq1,language,de\n",
        "night.toml": "\n".join(f'{table} = "{file}"' for table, file in TABLES.items())
        + "\ncutoffs = [1, 2]\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def evaluate(folder, *arguments, code=0):
    done = command_line(
        "evaluate", "--config", "night.toml", *arguments, cwd=folder, COLUMNS="120", NO_COLOR="1"
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def kept(folder):
    """The night with slices, published."""
    done = evaluate(folder, "--output", "out", "--date", "2026-11-20", "--format", "json")
    return json.loads(done.stdout), folder / "out"


def expected(run, queries):
    """The mean NDCG@2 of a run over these queries, and its standard error."""
    values = [NDCG[RANKS[run][query]] for query in queries]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return pytest.approx(statistics.mean(values)), error and pytest.approx(error)


def at_2(rows):
    return {(row["run"], row["attribute"], row["value"]): row for row in rows if row["cutoff"] == 2}


def test_each_slice_has_a_row_of_every_run_beside_those_of_all_queries(kept):
    outcome, out = kept
    whole, sliced = at_2(outcome["dataset_scores"]), at_2(outcome["slice_scores"])
    assert set(whole) == {(run, None, None) for run in RANKS}
    assert set(sliced) == {(run, *key) for run in RANKS for key in QUERIES}
    for (run, *key), row in (whole | sliced).items():
        queries = QUERIES[tuple(key)] if key[0] else list(RANKS[run])
        assert (row["ndcg"], row["ndcg_stderr"], row["queries"]) == (
            *expected(run, queries),
            len(queries),
        ), key
        assert row["missing_queries"] == sum(RANKS[run][query] is None for query in queries)
        assert row["unjudged_queries"] == (None if key[0] else 0)
    nights = committed(str(out))
    assert read_rows(nights, "dataset_scores").num_rows == 2 * 2 * (1 + len(QUERIES))
    # Who reads the scores of nights reads those of all queries.
    (rows,) = read_dataset_scores(nights)
    assert [(row["run"], row["cutoff"], row["attribute"]) for row in rows] == [
        (run, cutoff, None) for run in RANKS for cutoff in (1, 2)
    ]
    trends = json.loads(command_line("trend", out, "--format", "json", cwd=out).stdout)
    assert [(line["run"], len(line["points"])) for line in trends] == [(run, 1) for run in RANKS]


def test_the_table_shows_the_standard_error_and_the_slices_by_their_values(folder):
    lines = [line.split() for line in evaluate(folder).stdout.splitlines()]
    heading = ["ndcg@1", "ndcg@2", "std", "error", "queries"]
    assert lines[0][:6] == ["run", *heading]
    second = expected("second", RANKS["second"])
    assert lines[1][:5] == [
        "second",
        f"{1 / 3:.4f}",
        *(f"{value.expected:.4f}" for value in second),
        "3",
    ]
    sliced = next(at for at, line in enumerate(lines) if line[:2] == ["slice", "run"])
    assert lines[sliced][2:7] == heading
    assert "unjudged" not in lines[sliced]
    assert [" ".join(line[:2]) for line in lines[sliced + 1 :]][:3] == [
        *("language=de first", "language=de second", "language=en second"),
    ]
    assert ["size=big", "first", "1.0000", "1.0000", "-", "1"] in [line[:6] for line in lines]


def test_a_baseline_is_compared_in_the_slices_too(folder):
    rows = csv.DictReader(
        io.StringIO(evaluate(folder, "--baseline", "first", "--format", "csv").stdout)
    )
    printed = {
        (row["run"], row["value"]): row["difference"] for row in rows if row["cutoff"] == "2"
    }
    lost = DISCOUNTED - 1
    differences = {
        "": (lost + 1) / 3,
        "de": lost / 2,
        "en": (lost + 1) / 2,
        "(none)": 1 / 2,
        "big": lost,
    }
    assert {run for run, _ in printed} == {"second"}
    assert {value: float(printed["second", value]) for value in differences} == pytest.approx(
        differences
    )


def test_an_option_replaces_the_file_of_the_configuration(folder):
    done = evaluate(folder, "--slices", "unknown.csv", "--format", "json")
    assert {row["value"] for row in json.loads(done.stdout)["slice_scores"]} == {"(none)"}
    for more in ([], ["--baseline", "first"], ["--output", "unmatched"]):
        told = evaluate(folder, "--slices", "unknown.csv", *more).stderr
        assert told.count("query_attributes: none of its queries has scores here, e.g. q8; ") == 1
    assert "none of its queries" not in evaluate(folder).stderr


def test_a_table_that_breaks_its_contract_is_refused_before_anything_is_scored(folder):
    done = evaluate(folder, "--output", "refused", "--slices", "broken.csv", code=3)
    assert "query_attributes: 1 row(s) repeat " in done.stderr
    assert [path.name for path in (folder / "refused").iterdir()] == ["evaluations"]


def test_a_night_that_lost_the_score_of_a_slice_is_not_published(folder, monkeypatch):
    write = Publication.write_rows

    def losing(publication, name, rows):
        lost = ("first", 1, "de")
        write(
            publication,
            name,
            [row for row in rows if (row["run"], row["cutoff"], row["value"]) != lost],
        )

    monkeypatch.setattr(Publication, "write_rows", losing)
    assert (
        "19 of 20 rows of dataset_scores were read back"
        in evaluate(folder, "--output", "lost", code=4).stderr
    )
    assert committed(str(folder / "lost")) == []
