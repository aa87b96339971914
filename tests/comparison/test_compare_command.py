"""The command `compare` on published nights, and `evaluate --baseline`, as people and programs meet them."""

import csv
import io
import json
import re
import shutil

import pyarrow.parquet as pq
import pytest
from commands import command_line

from ndcg_spark.comparison.options import measures_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import append, committed
from ndcg_spark.nights.store import Store
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tables.comparison_notes import FLAGS, comparison_notes, mark, stars
from ndcg_spark.tables.comparisons import comparison_table

QUERIES = [f"q{at}" for at in range(12)]
QRELS = "".join(f"{query} 0 {doc} {grade}\n" for query in QUERIES for doc, grade in (("a", 2), ("b", 1), ("c", 0)))


def run_file(name, lists):
    """A TREC run whose list of each query is a text such as 'abc'."""
    return "".join(
        f"{query} Q0 {doc} {rank} {10 - rank} {name}\n"
        for query, docs in zip(QUERIES, lists, strict=True)
        for rank, doc in enumerate(docs, 1)
    )


OLD = ["bac"] * 10 + ["abc"] * 2
NEW = ["abc"] * 9 + ["bac"] + ["cab", ""]


def test_only_what_is_shown_is_explained():
    plain = row(baseline="old", p_decides=0.5, interval_low=None, family_size=2)
    marked = {**plain, "p_decides": 0.01, "flags": ["few_changed"], "interval_low": 0.1}
    notes = comparison_notes([plain], "holm", 0.05)
    assert notes == ["baseline: old", "p: two-sided paired t test, adjusted for 2 comparisons (Holm)"]
    assert [note.partition(":")[0] for note in comparison_notes([marked], "holm", 0.05)] == [
        *("baseline", "p", "interval", "few_changed")
    ]


def ndcg_spark(folder, *arguments, **environment):
    return command_line(*arguments, cwd=folder, **{"COLUMNS": "100", "NO_COLOR": "1", **environment})


def evaluate(folder, *arguments):
    tables = ("evaluate", "qrels.txt", "old.run", "new.run", "--cutoffs", "1,3", "--engine", "embedded")
    return ndcg_spark(folder, *tables, *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two nights of two runs: in the second the new run is better, except for three queries."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (folder / "old.run").write_text(run_file("old", OLD), encoding="utf-8")
    for date, lists in (("2026-11-19", OLD), ("2026-11-20", NEW)):
        (folder / "new.run").write_text(run_file("new", lists), encoding="utf-8")
        done = evaluate(folder, "--output", "out", "--date", date)
        assert done.returncode == 0, done.stderr
    rows = "".join(f"{query},{('de', 'en')[at % 2]}\n" for at, query in enumerate(QUERIES))
    (folder / "slices.csv").write_text("qid,language\n" + rows, encoding="utf-8")
    (folder / "long.csv").write_text("qid,slice,slice_value\n" + rows.replace(",", ",language,"), encoding="utf-8")
    (folder / "weights.jsonl").write_text(
        "".join(f'{{"qid": "{query}", "Traffic": {at + 1}}}\n' for at, query in enumerate(QUERIES)), encoding="utf-8"
    )
    return folder


def compare(folder, *arguments, **environment):
    return ndcg_spark(folder, "compare", "out", *arguments, **{"COLUMNS": "200", **environment})


def test_a_night_is_compared_with_one_of_its_runs(folder):
    done = compare(folder, "--baseline", "old", "--measures", "ndcg@3", "--queries", "2", PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr
    count, heading, row, *rest = done.stdout.splitlines()
    assert count == "ndcg@3: 1 cannot tell"
    headings = ["run", "mean", "baseline", "difference", "interval", "p", "(adjusted)", "won/tied/lost", "conclusion"]
    assert heading.split() == headings
    assert row.split()[0] == "new"
    assert row.endswith("9/1/2  cannot tell")
    assert max(map(len, (count, heading, row))) <= 100
    assert "baseline: old" in rest
    # Of two losses and nine equal wins two each, the largest first and equal ones by their names.
    named = [line.split()[2] for line in rest if line.startswith("new") and "ndcg@3   q" in line]
    assert named == ["q11", "q10", "q0", "q1"]
    # No engine was needed.
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["compared"]


def test_a_night_is_compared_with_another_run_by_run(folder):
    done = compare(folder, "--baseline-date", "2026-11-19", "--format", "json")
    found = json.loads(done.stdout)
    rows = {(row["run"], row["cutoff"]): row for row in found["comparisons"]}
    assert list(rows) == [("new", 1), ("old", 1), ("new", 3), ("old", 3)]
    assert list(found["comparisons"][0]) == COMPARISONS.names
    assert rows["old", 3] | {"flags": ["unchanged"], "p_value": 1.0, "baseline_night": "2026-11-19"} == rows["old", 3]
    assert rows["new", 3]["wins"] == 9
    # At rank 1 the gain of grade 2 is 3, and of grade 1 it is 1: NDCG 1 and 1/3.
    assert rows["new", 1]["baseline_mean"] == pytest.approx((10 / 3 + 2) / 12)
    assert rows["new", 1]["mean"] == pytest.approx((9 + 1 / 3 + 0 + 0) / 12)


def test_a_night_with_other_judgments_has_a_warning_above_the_table_and_no_stars(folder, tmp_path):
    # In the second night q0 has a better document, and every query is lost.
    for date, qrels, lists in (("2026-11-19", QRELS, NEW), ("2026-11-20", QRELS + "q0 0 x 3\n", ["c"] * 12)):
        (tmp_path / "qrels.txt").write_text(qrels, encoding="utf-8")
        (tmp_path / "new.run").write_text(run_file("new", lists), encoding="utf-8")
        tables = ("evaluate", "qrels.txt", "new.run", "--cutoffs", "3", "--engine", "embedded", "--output", "out")
        assert ndcg_spark(tmp_path, *tables, "--date", date).returncode == 0
    other = ("--baseline-date", "2026-11-19", "--engine", "embedded")
    sentence = "default: 1 of 12 queries have other judgments than on 2026-11-19"
    lines = compare(tmp_path, *other).stdout.splitlines()
    assert lines[0] == "ndcg@3: 1 cannot tell"
    assert lines[1:3] == [
        "the judgments of default are not those of 2026-11-19",
        f"{sentence}, which changes scores, too; unchanged_queries leaves them out",
    ]
    assert "*" not in "".join(lines)
    found = json.loads(compare(tmp_path, *other, "--unchanged-queries", "--format", "json").stdout)
    (row,) = found["comparisons"]
    assert (row["queries"], row["conclusion"], "other_judgments" in row["flags"]) == (11, "worse", False)
    assert found["warnings"][1] == f"{sentence}, and were left out"


def test_a_margin_says_which_runs_are_the_same(folder):
    (row,) = json.loads(
        compare(folder, "--baseline", "old", "--measures", "ndcg@3", "--margin", "0.9", "--format", "json").stdout
    )["comparisons"]
    assert row["conclusion"] == "same"
    done = compare(folder, "--baseline", "old", "--margin", "-1")
    assert (done.returncode, "margin: -1.0 is not a difference above 0" in done.stderr) == (2, True)
    done = compare(folder, "--baseline", "old", "--sort", "diffrence")
    assert (done.returncode, "no column is called 'diffrence' (did you mean 'difference'?)" in done.stderr) == (2, True)


def test_slices_and_weights_of_files_are_rows_of_their_own(folder):
    asked = ("--baseline", "old", "--weights", "weights.jsonl", "--format", "csv")
    # A column for each attribute, and a row for each.
    wide, long = (compare(folder, *asked, "--slices", name).stdout for name in ("slices.csv", "long.csv"))
    rows, again = ([row for row in csv.DictReader(io.StringIO(out)) if row["cutoff"] == "3"] for out in (wide, long))
    keys, same = (
        [(row["attribute"], row["value"], bool(row["weight_effective_n"])) for row in of] for of in (rows, again)
    )
    assert same == keys
    assert keys == [
        ("", "", False),
        ("", "", True),
        ("language", "de", False),
        ("language", "de", True),
        ("language", "en", False),
        ("language", "en", True),
    ]
    assert [int(row["queries"]) for row in rows] == [12, 12, 6, 6, 6, 6]
    # 78 is the sum of the weights and 650 that of their squares.
    assert float(rows[1]["weight_effective_n"]) == pytest.approx(78**2 / 650)
    assert rows[2]["flags"].split()[0] == "below_min_queries"


@pytest.mark.slow
def test_a_dataset_whose_last_night_is_older_is_told_by_every_command_of_the_newest(folder, tmp_path):
    shutil.copytree(folder / "out", tmp_path / "out")
    web = ("--dataset", "web")
    done = evaluate(folder, "--output", tmp_path / "out", "--date", "2026-11-18", "--documents", "all", *web)
    assert done.returncode == 0, done.stderr
    said = "1 dataset(s) have no night of 2026-11-20 and are left out: web (its last is of 2026-11-18)"
    found = ndcg_spark(tmp_path, "compare", "out", "--baseline", "old", "--engine", "embedded", "--format", "json")
    assert said in found.stderr
    assert json.loads(found.stdout)["warnings"][0].startswith(said)
    for baseline in ([], ["--baseline", "old"]):
        written = ndcg_spark(tmp_path, "report", "out", "--html", "r.html", *baseline)
        assert (written.returncode, written.stderr.count(said)) == (0, 1)
        assert (tmp_path / "r.html").read_text(encoding="utf-8").count(said) == 1
    alone = ndcg_spark(tmp_path, "compare", "out", "--baseline", "old", "--engine", "embedded", *web)
    assert (alone.returncode, said in alone.stderr) == (0, False)
    assert ndcg_spark(tmp_path, "explain", "out", "--query", "q0", *web).returncode == 0


@pytest.mark.parametrize("style", ["markdown", "latex"])
def test_what_is_pasted_has_intervals_in_numbers(folder, style):
    done = compare(folder, "--baseline", "old", "--format", style)
    assert done.returncode == 0
    assert re.search(r"[+-]0\.\d{4}, \+0\.\d{4}", done.stdout) or style == "latex"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "there is no baseline; give --baseline RUN"),
        (["--baseline", "odl"], 2, "no run is called 'odl' (did you mean 'old'?); there are new, old"),
        (["--baseline", "old", "--run", "nwe"], 2, "run: no run is called 'nwe' (did you mean 'new'?)"),
        (["--baseline", "old", "--run", "old"], 2, "run: 'old' is the baseline itself"),
        (["--baseline", "old", "--date", "2026-11-18"], 2, "no night of 2026-11-18; the newest is of 2026-11-20"),
        (["--baseline", "old", "--date", "today"], 2, "--date"),
        (["--baseline-date", "good"], 2, "no night of default before 2026-11-20 is good"),
        (["--baseline-date", "2026-11-01"], 2, "default has no night of 2026-11-01"),
        (["--baseline-date", "god"], 2, "--baseline-date 'god' is not a date"),
        (["--baseline", "old", "--measures", "ndgc"], 2, "measures: 'ndgc' is not a measure (did you mean 'ndcg'?)"),
        (
            ["--baseline", "old", "--measures", "ndcg@7"],
            2,
            "measures: ndcg@7 was not evaluated in this night; it has ndcg@",
        ),
        (["--baseline", "old", "--measures", "ndcg@x"], 2, "ndcg@x has an invalid cutoff"),
        (["--baseline", "old", "--measures", "recall"], 2, "measures: recall was not evaluated in this night"),
        (
            ["--baseline", "old", "--correction", "tukey"],
            2,
            "--correction",
        ),
        (["--baseline", "old", "--slices", "nowhere.csv"], 3, "query_attributes: "),
        (["--baseline", "old", "--slices", "old.run"], 3, "has no ending of a format"),
        (["--baseline", "old", "--weights", "slices.csv"], 3, "give query_id and weight"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_compared_is_refused_in_words(folder, arguments, code, words):
    done = compare(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stdout == ""


def test_several_baselines_are_corrected_together_and_none_of_them_may_be_a_run(folder):
    (folder / "third.run").write_text(run_file("third", OLD[::-1]), encoding="utf-8")
    done = evaluate(folder, "third.run", "--output", "three", "--date", "2026-11-20")
    assert done.returncode == 0, done.stderr
    several = ("compare", "three", "--baseline", "old", "--baseline", "third", "--measures", "ndcg@3")
    done = ndcg_spark(folder, *several, "--format", "json")
    assert "compared default of 2026-11-20 with run old and run third" in done.stderr
    found = json.loads(done.stdout)
    rows = [(row["run"], row["baseline"], row["family_size"]) for row in found["comparisons"]]
    assert rows == [("new", "old", 2), ("new", "third", 2)]
    done = ndcg_spark(folder, *several, "--run", "third")
    assert (done.returncode, "run: 'third' is the baseline itself" in done.stderr) == (2, True)


def test_the_good_night_is_the_newest_of_which_nothing_failed(folder, tmp_path):
    copied = tmp_path / "out"
    for path in (folder / "out").rglob("*"):
        target = copied / path.relative_to(folder / "out")
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    store, date = Store(str(copied)), "2026-11-19"
    (night,) = committed(store, [date])
    for number, (verdict, code) in enumerate((("fail", 2), ("pass", 0), ("pass", 0)), 2):
        append(store, date, [{**night.row, "number": number, "verdict": verdict, "is_baseline": verdict == "pass"}])
        done = ndcg_spark(tmp_path, "compare", "out", "--baseline-date", "good", "--format", "json")
        assert done.returncode == code, done.stderr
        if code == 0:
            # Whatever is older than the last good night is not looked at.
            older = copied / "evaluations/evaluated_on=2025-01-01/x.parquet"
            older.parent.mkdir(exist_ok=True)
            older.write_text("damaged", encoding="utf-8")
    assert {row["baseline_night"] for row in json.loads(done.stdout)["comparisons"]} == {"2026-11-19"}


def test_a_broken_line_of_a_table_about_queries_is_refused(folder, tmp_path):
    (tmp_path / "broken.csv").write_text("query_id,language\nq0,de,en\n", encoding="utf-8")
    done = compare(folder, "--baseline", "old", "--slices", tmp_path / "broken.csv")
    assert done.returncode == 3
    assert "q0,de,en" in done.stderr


# evaluate --baseline


def test_an_evaluation_shows_its_runs_beside_one_of_them_without_an_output(folder):
    done = evaluate(folder, "--baseline", "old", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["output"] is None
    expected = json.loads(compare(folder, "--baseline", "old", "--format", "json").stdout)["comparisons"]
    own = {"evaluation_id", "evaluated_on"}
    for row, other in zip(found["comparisons"], expected, strict=True):
        rounded = {name: pytest.approx(v) if isinstance(v, float) else v for name, v in other.items()}
        assert {**row, **dict.fromkeys(own)} == {**rounded, **dict.fromkeys(own)}


def test_what_is_compared_are_the_measures_that_were_asked_for(folder):
    done = evaluate(folder, "--baseline", "old", "--measures", "P@1 AP", "--format", "json")
    rows = json.loads(done.stdout)["comparisons"]
    assert [(row["measure"], row["cutoff"]) for row in rows] == [("precision", 1), ("ap", None)]


def test_beside_the_scores_stands_the_comparison_by_the_first_measure_at_a_cutoff(folder):
    measures = ("--measures", "nDCG@3 P@3 P@1")
    done = evaluate(folder, *measures, "--baseline", "old", "--format", "csv")
    rows = {(row["run"], row["cutoff"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert [rows["new", cutoff]["measure"] for cutoff in ("1", "3")] == ["precision", "ndcg"]
    difference = float(rows["new", "1"]["precision"]) - float(rows["old", "1"]["precision"])
    assert float(rows["new", "1"]["difference"]) == pytest.approx(difference)


def test_in_csv_a_comparison_stands_beside_the_scores(folder):
    done = evaluate(folder, "--baseline", "old", "--format", "csv")
    rows = {(row["run"], row["cutoff"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["old", "3"] | {"baseline": "", "p_value": "", "flags": ""} == rows["old", "3"]
    new = rows["new", "3"]
    assert new | {"baseline": "old", "wins": "9", "losses": "2"} == new
    assert float(new["difference"]) == pytest.approx(float(new["ndcg"]) - float(rows["old", "3"]["ndcg"]))


def test_an_evaluation_with_an_output_compares_what_it_published(folder, tmp_path):
    done = evaluate(folder, "--baseline", "old", "--output", tmp_path / "out", "--date", "2026-11-21")
    assert done.returncode == 0, done.stderr
    assert "p: two-sided paired t test" in done.stdout
    assert pq.read_table(tmp_path / "out" / "query_scores").num_rows == 2 * 2 * 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--baseline", "odl"], "baseline: no run is called 'odl' (did you mean 'old'?); there are new, old"),
        (["--baseline", "old", "--per-query"], "--per-query prints queries and --baseline compares runs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_evaluation_that_cannot_be_compared_is_refused_before_it_is_scored(folder, tmp_path, arguments, words):
    done = evaluate(folder, *arguments, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out" / "query_scores").exists()


# Arguments and tables


def test_measures_are_named_with_their_cutoffs():
    assert measures_of("ndcg") == {"ndcg": None}
    assert measures_of("ndcg@10, ndcg@all,dcg") == {"ndcg": [10, None], "dcg": None}
    assert measures_of("ndcg@3,ndcg") == {"ndcg": None}
    assert measures_of("P@5 nDCG@10, AP judged") == {"precision": [5], "ndcg": [10], "ap": [None], "judged_share": None}
    for wrong in ("", "ndcg@0", "ndcg@ten", "ndcg@", "dcg@ten", "P(rel=2)@5", "dgc"):
        with pytest.raises(ConfigurationError):
            measures_of(wrong)


def row(**more):
    numbers = {"queries": 50, "mean": 0.6, "baseline_mean": 0.5, "difference": 0.1, "wins": 1, "ties": 2, "losses": 3}
    interval = {"interval_low": 0.05, "interval_high": 0.15, "p_value": 0.002, "p_adjusted": 0.004}
    names = {"dataset": "d", "run": "r", "baseline": "b", "baseline_night": None, "measure": "ndcg", "cutoff": 10}
    rest = {
        "attribute": None,
        "value": None,
        "flags": [],
        "weight_effective_n": None,
        "p_decides": 0.004,
        "evaluated_on": None,
    }
    family = {"family_size": 1, "conclusion": "better"}
    planned = {"minimum_detectable": 0.36}
    return {**names, **numbers, **interval, **rest, **family, **planned, **more}


def test_significance_is_marked_and_explained():
    assert [mark(p) for p in (None, 0.05, 0.049, 0.0099, 0.00099)] == ["", "", "*", "**", "***"]
    found = [row(family_size=2), row(flags=["few_changed"], family_size=2)]
    table = comparison_table(found, "bh", 0.01)
    assert [stars(each) for each in found] == ["**", "**"]
    assert table.notes[1].endswith("adjusted for 2 comparisons (Benjamini-Hochberg)")
    assert table.notes[2].startswith("interval: 99 %")
    assert table.notes[3] == f"few_changed: {FLAGS['few_changed']}"
    assert "adjusted" not in comparison_table([row()], "none", 0.05).notes[1]
    for flag in ("other_judgments", "doubt"):
        assert stars(row(flags=[flag], conclusion="cannot_tell")) == ""
