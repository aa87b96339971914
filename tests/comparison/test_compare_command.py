"""The command `compare` on published nights, and `evaluate --baseline`, as people and programs meet them."""

import json
import shutil

import gates
import pytest
from commands import command_line
from gated_nights import evaluated, settings

from ndcg_spark.schemas import COMPARISONS

QUERIES = [f"q{at}" for at in range(12)]
QRELS = "".join(
    f"{query} 0 {doc} {grade}\n"
    for query in QUERIES
    for doc, grade in (("a", 2), ("b", 1), ("c", 0))
)
OLD = ["bac"] * 10 + ["abc"] * 2
NEW = ["abc"] * 9 + ["bac"] + ["cab", ""]


def run_file(name, lists):
    """A TREC run whose list of each query is a text such as 'abc'."""
    return "".join(
        f"{query} Q0 {doc} {rank} {10 - rank} {name}\n"
        for query, docs in zip(QUERIES, lists, strict=True)
        for rank, doc in enumerate(docs, 1)
    )


def ndcg_spark(folder, *arguments):
    return command_line(
        *arguments, cwd=folder, COLUMNS="100", NO_COLOR="1", PYTHONIOENCODING="utf-8"
    )


def evaluate(folder, *arguments):
    tables = (
        "evaluate",
        "qrels.txt",
        "old.run",
        "new.run",
        "--cutoffs",
        "1,3",
        "--engine",
        "embedded",
    )
    return ndcg_spark(folder, *tables, *arguments)


def compare(folder, *arguments):
    return ndcg_spark(folder, "compare", "out", *arguments)


def comparison_rows(done, cutoff=3):
    assert done.returncode == 0, done.stderr
    return [row for row in json.loads(done.stdout)["comparisons"] if row["cutoff"] == cutoff]


def test_nights_of_two_conventions_and_a_night_with_itself_are_not_compared(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other")
    assert "with itself" in compare(folder, "--baseline-date", "2026-11-20").stderr
    done = evaluate(
        tmp_path / "other", "--output", "out", "--date", "2026-11-21", "--convention", "trec_eval"
    )
    assert done.returncode == 0, done.stderr
    done = compare(tmp_path / "other", "--baseline-date", "2026-11-20")
    assert (done.returncode, "a different convention" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two nights of two runs: in the second the new run is better, except for three queries."""
    folder = tmp_path_factory.mktemp("nights")
    languages = "".join(f"{query},{('de', 'en')[at % 2]}\n" for at, query in enumerate(QUERIES))
    weights = "".join(
        f'{{"qid": "{query}", "Traffic": {at + 1}}}\n' for at, query in enumerate(QUERIES)
    )
    files = {"qrels.txt": QRELS, "old.run": run_file("old", OLD)}
    files |= {"slices.csv": f"qid,language\n{languages}", "weights.jsonl": weights}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for date, lists in (("2026-11-19", OLD), ("2026-11-20", NEW)):
        (folder / "new.run").write_text(run_file("new", lists), encoding="utf-8")
        done = evaluate(folder, "--output", "out", "--date", date)
        assert done.returncode == 0, done.stderr
    return folder


def test_a_night_is_compared_with_one_of_its_runs_by_the_headline(folder):
    done = compare(folder, "--baseline", "old", "--queries", "2")
    assert done.returncode == 0, done.stderr
    count, heading, row, *rest = done.stdout.splitlines()
    assert (count, "baseline: old" in rest) == ("ndcg@3: 1 cannot tell", True)
    assert (
        " ".join(heading.split())
        == "run mean baseline difference interval p (adjusted) won/tied/lost conclusion"
    )
    assert (row.split()[0], row.endswith("9/1/2  cannot tell")) == ("new", True)
    # Of two losses and nine equal wins two each, the largest first and equal ones by their names.
    named = [line.split()[2] for line in rest if line.startswith("new") and "ndcg@3   q" in line]
    assert named == ["q11", "q10", "q0", "q1"]
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["compared"]


def test_a_night_is_compared_with_another_run_by_run(folder):
    new, old = comparison_rows(compare(folder, "--baseline-date", "2026-11-19", "--format", "json"))
    assert list(new) == COMPARISONS.names
    assert old | {"flags": ["unchanged"], "p_value": 1.0, "baseline_night": "2026-11-19"} == old
    # The gain of grade 2 is 3, and of grade 1 it is 1: at rank 1 the NDCG is 1 or 1/3.
    asked = (
        "--baseline-date",
        "2026-11-19",
        "--measures",
        "ndcg@1",
        "--run",
        "new",
        "--format",
        "json",
    )
    (row,) = comparison_rows(compare(folder, *asked), 1)
    assert [row["baseline_mean"], row["mean"]] == pytest.approx(
        [(10 / 3 + 2) / 12, (9 + 1 / 3 + 0 + 0) / 12]
    )


@pytest.fixture(scope="module")
def rejudged(tmp_path_factory):
    """Two nights of a gate: in the second q0 has other grades, and half of the queries are lost."""
    folder = tmp_path_factory.mktemp("rejudged")
    evaluated(
        folder, settings(folder, "2026-11-19"), settings(folder, "2026-11-20", regraded=1, worse=30)
    )
    return folder


OTHER = ("--run", "hybrid", "--baseline-date", "2026-11-19")


def test_nights_with_other_judgments_are_compared_on_both_sides(rejudged):
    done = compare(rejudged, *OTHER, "--format", "json")
    rows = comparison_rows(done)
    assert [(row["side"], row["queries"], row["conclusion"]) for row in rows] == [
        ("old", 60, "worse"),
        ("new", 60, "worse"),
    ]
    # The lists of both nights are the same for q0, so that its grades change its two scores alike.
    value = json.loads(done.stdout)
    (mean,) = value["means_of_sides"]
    assert (mean["old"], mean["new"]) == (rows[0]["difference"], rows[1]["difference"])
    assert mean["mean"] == pytest.approx((mean["old"] + mean["new"]) / 2)
    assert (mean["queries"], value["warnings"]) == (60, [])
    # It is one comparison, in one table.
    table = compare(rejudged, *OTHER).stdout
    assert table.startswith("ndcg@3: 1 worse\n")
    assert [line.split()[:2] for line in table.splitlines() if line.startswith("hybrid")] == [
        ["hybrid", "old"],
        ["hybrid", "new"],
    ]


def test_without_copies_only_what_is_judged_alike_is_compared_and_a_command_makes_them(
    rejudged, tmp_path
):
    shutil.copytree(rejudged / "out", tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "rescored")
    done = compare(tmp_path, *OTHER, "--format", "json")
    (row,) = comparison_rows(done)
    assert (row["queries"], row["conclusion"], row["side"], row["flags"]) == (59, "worse", None, [])
    (warning,) = json.loads(done.stdout)["warnings"]
    command = f"ndcg-spark rescore {tmp_path / 'out'}"
    assert "1 of 60 queries" in warning
    assert warning.endswith(command)
    done = ndcg_spark(tmp_path, *command.split()[1:], "--engine", "embedded")
    assert done.returncode == 0, done.stderr
    assert len(comparison_rows(compare(tmp_path, *OTHER, "--format", "json"))) == 2


def test_nights_without_a_query_in_common_are_refused_with_the_command(tmp_path):
    for date, judged in (("2026-11-19", 1), ("2026-11-20", 2)):
        gates.evaluate(tmp_path / "out", None, date, {"r": gates.SAME}, hashes=[judged] * gates.N)
    done = compare(tmp_path, "--baseline-date", "2026-11-19", "--measures", "ndcg@10")
    assert (done.returncode, done.stdout) == (2, "")
    # The judgments of these nights were not kept.
    command = f"ndcg-spark rescore {tmp_path / 'out'} --judgments FILE --dataset web"
    assert done.stderr.rstrip().endswith(command)


def test_slices_and_weights_of_files_are_rows_of_their_own(folder):
    files = ("--slices", "slices.csv", "--weights", "weights.jsonl")
    rows = comparison_rows(compare(folder, "--baseline", "old", *files, "--format", "json"))
    assert [(row["value"], row["queries"]) for row in rows[::2]] == [
        (None, 12),
        ("de", 6),
        ("en", 6),
    ]
    # 78 is the sum of the weights and 650 that of their squares.
    assert [row["weight_effective_n"] for row in rows[:2]] == [None, pytest.approx(78**2 / 650)]


@pytest.mark.slow
def test_a_dataset_whose_last_night_is_older_is_told_by_every_command_of_the_newest(
    folder, tmp_path
):
    shutil.copytree(folder / "out", tmp_path / "out")
    web = ("--dataset", "web")
    done = evaluate(
        folder, "--output", tmp_path / "out", "--date", "2026-11-18", "--documents", "all", *web
    )
    assert done.returncode == 0, done.stderr
    said = "1 dataset(s) have no night on 2026-11-20 and are left out"
    done = compare(tmp_path, "--baseline", "old", "--format", "json")
    assert (said in done.stderr, json.loads(done.stdout)["warnings"][0].startswith(said)) == (
        True,
        True,
    )
    assert ndcg_spark(tmp_path, "report", "out", "--html", "r.html").stderr.count(said) == 1


# evaluate --baseline


def test_every_table_names_judged_rates_that_are_far_apart(tmp_path):
    queries = [f"q{at}" for at in range(12)]
    new = "".join(f"{query} Q0 unknown 1 2 new\n{query} Q0 a 2 1 new\n" for query in queries)
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in queries))
    (tmp_path / "all.run").write_text(new + "".join(f"{query} Q0 a 1 1 old\n" for query in queries))
    night = ("evaluate", "qrels.txt", "all.run", "--cutoffs", "3", "--engine", "embedded")
    for style in ("table", "markdown", "latex"):
        shown = ndcg_spark(tmp_path, *night, "--baseline", "old", "--format", style).stdout
        assert "100 % for old, but 50 % for new" in shown, style
    (warning,) = json.loads(
        ndcg_spark(tmp_path, *night, "--baseline", "old", "--format", "json").stdout
    )["warnings"]
    assert "judge-next" in warning


def test_an_evaluation_shows_its_runs_beside_one_of_them_without_an_output(folder):
    done = evaluate(folder, "--baseline", "old", "--format", "json")
    expected = comparison_rows(
        compare(folder, "--baseline", "old", "--measures", "ndcg", "--format", "json")
    )
    own = dict.fromkeys(("evaluation_id", "evaluated_on"))
    for row, other in zip(comparison_rows(done), expected, strict=True):
        assert (
            row | own
            == {name: pytest.approx(v) if isinstance(v, float) else v for name, v in other.items()}
            | own
        )
    assert json.loads(done.stdout)["output"] is None


@pytest.mark.parametrize(
    "lines", ["", "other Q0 a 1 1 new\n"], ids=["no rows", "only unjudged queries"]
)
@pytest.mark.parametrize("convention", ["trec_eval", "pytrec_eval"])
def test_a_run_that_answered_no_judged_query_is_not_tested(tmp_path, lines, convention):
    (tmp_path / "runs").mkdir()
    files = {"qrels.txt": QRELS, "runs/old.run": run_file("old", OLD), "runs/new.run": lines}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    night = (
        "evaluate",
        "qrels.txt",
        "runs",
        "--run-from",
        "file",
        "--convention",
        convention,
        "--cutoffs",
        "3",
    )
    night += ("--engine", "embedded")
    for baseline, flag in (("old", "run_missing"), ("new", "baseline_missing")):
        (row,) = comparison_rows(
            ndcg_spark(tmp_path, *night, "--baseline", baseline, "--format", "json")
        )
        assert (row["flags"][0], row["p_value"], row["conclusion"], row["queries"]) == (
            flag,
            None,
            None,
            0,
        )
    table = ndcg_spark(tmp_path, *night, "--baseline", "old").stdout
    assert ("1 not tested" in table, "not tested (run missing)" in table) == (True, True)
    latex = ndcg_spark(tmp_path, *night, "--baseline", "old", "--format", "latex").stdout
    assert ("new returned nothing and is not tested" in latex, "textsuperscript" in latex) == (
        True,
        False,
    )
    assert ndcg_spark(tmp_path, *night, "--output", "out", "--date", "2026-11-20").returncode == 0
    (row,) = comparison_rows(
        ndcg_spark(tmp_path, "compare", "out", "--baseline", "old", "--format", "json")
    )
    assert (row["run"], row["flags"][0], row["mean"]) == ("new", "run_missing", None)
