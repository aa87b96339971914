"""Input that is refused, before or while it is scored, or that changes meanwhile: nothing is published but why."""

import functools
import io
from types import SimpleNamespace
from unittest import mock

import pandas as pd
import pytest
from evaluations import QRELS, RUN, checked, evaluated
from pyspark.errors import PySparkException
from sessions import on_spark

from ndcg_spark.convention.refused_queries import MISSING_QUERY
from ndcg_spark.errors import (
    ConfigurationError,
    ConventionError,
    DuplicatesError,
    EngineError,
    InputError,
    UnreachableError,
)
from ndcg_spark.job import check_inputs
from ndcg_spark.job.check_inputs import documents_to_judge
from ndcg_spark.job.checked_lists import CheckedLists, counted_refusals
from ndcg_spark.job.inputs import translated_failures
from ndcg_spark.nights.log import committed
from ndcg_spark.voices import SeparateRuns

JUDGED = "dataset,query_id,doc_id,relevance\nd,q1,a,1\n"
RETURNED = "dataset,run,query_id,doc_id,score\nd,r,q1,a,1\n"
NAMED = {"judgments": "j.csv", "results": "r.csv"}
#: Two systems under one name.
MERGED = {
    "a.run": "q1 Q0 x 1 9 r\nq1 Q0 a 2 8 r\nq2 Q0 a 1 3 r\n",
    "b.run": "q1 Q0 y 1 9.5 r\nq1 Q0 b 2 8.5 r\n",
    "c.run": "q1 Q0 a 1 9 s\nq1 Q0 b 2 8 s\n",
}
#: The files and the settings, and what is refused.
CASES = {
    # Infinite at rank 1.
    "discount": (
        {},
        {"convention": {"discount": "python:numpy.arctanh"}},
        ConventionError,
        "finite",
    ),
    # The unjudged document gains 1e300, and the ideal DCG is 1e-10.
    "quotient": (
        *({"qrels.txt": "q1 0 a 1\n", "run.txt": "q1 Q0 x 1 2.0 r\nq1 Q0 a 2 1.0 r\n"},),
        *(
            {"convention": {"gain": {0: 1e300, 1: 1e-10}}},
            ConventionError,
            "an NDCG that is not a finite",
        ),
    ),
    "missing query": (
        {},
        {"convention": {"missing_query": "error"}},
        InputError,
        "1 of .* run=bm25 query_id=q2",
    ),
    **{
        f"no relevant {ideal}": (
            *(
                {"qrels.txt": "q1 0 a 1\nq2 0 c 0\n"},
                {"convention": {"no_relevant": "error", "ideal": ideal}},
            ),
            *(InputError, "relevant .* run=bm25 query_id=q2"),
        )
        for ideal in ("judged", "retrieved")
    },
    "twice": (
        {"run.txt": RUN + RUN.splitlines()[0] + "\n"},
        {},
        DuplicatesError,
        "1 .*run=bm25 query_id=q1 doc_id=a",
    ),
    **{
        f"merged {cutoffs}": (
            *(MERGED, {"results": {"path": [*MERGED]}, "cutoffs": cutoffs}, InputError),
            r"1 list.* 1 run.* run=r query_id=q1: score 9\.5 in \S*/b\.run and 9\.0 in \S*/a\.run",
        )
        for cutoffs in ("10", "all")
    },
    "judged too little": (
        *({"run.txt": RUN + "q1 Q0 x 3 1 bm25\n"}, {"min_judged_rate": 0.7}),
        *(
            InputError,
            r"judged_rate@3 below min_judged_rate=0\.7, e\.g\. run=bm25 dataset=default with 0\.6667",
        ),
    ),
    "gaps": (
        *({}, {"max_missing_fraction": 0.4, "max_unjudged_fraction": 0.4}, InputError),
        "run=bm25 lacks 1 of 2; 1 run.* run=bm25 has 1 of 2",
    ),
    "no grades": (
        {"train.csv": "user_id,item_id\nq1,a\n"},
        {"judgments": "train.csv"},
        InputError,
        "relevance",
    ),
    "excluded": (
        {"train.csv": "query_id,doc_id\nq1,a\nq1,b\n"},
        {"exclude": "train.csv"},
        InputError,
        "exclude removed 2",
    ),
    "datasets": (
        {"j.csv": JUDGED, "r.csv": RETURNED},
        {**NAMED, "dataset": "other"},
        ConfigurationError,
        "datasets",
    ),
}
#: What an engine decides: by sums, by joins and by counts.
ON_SPARK = ("quotient", "no relevant judged", "twice", "merged 10", "judged too little", "excluded")


def refused_night(folder):
    """The status and the exit code in the log, beside which nothing was left."""
    nights = committed(str(folder / "out"))
    assert (
        nights,
        {path.parts[-3] for path in (folder / "out").rglob("*.parquet")} - {"evaluations"},
    ) == ([], set())
    return [(row["status"], row["exit_code"]) for row in nights.attempts]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", on_spark(CASES, *ON_SPARK))
def test_refused(session, configured, tmp_path, case):
    files, settings, error, said = CASES[case]
    with pytest.raises(error, match=said):
        evaluated(configured(files, output="out", **settings))
    assert refused_night(tmp_path) == ([("refused", 3)] if issubclass(error, InputError) else [])


def test_a_missing_query_is_refused_with_the_code_of_its_rule(configured):
    with pytest.raises(InputError) as refused:
        evaluated(configured(convention={"missing_query": "error"}))
    assert refused.value.code == MISSING_QUERY.code


def test_within_the_limits(configured):
    evaluated(configured(max_missing_fraction=0.5, max_unjudged_fraction=0.5))
    evaluated(configured({"run.txt": RUN + "q1 Q0 x 3 1 bm25\n"}, min_judged_rate=2 / 3))
    with pytest.raises(InputError, match="judged_rate@3"):
        checked(configured(min_judged_rate=0.9))
    outcome, _ = evaluated(configured({"j.csv": JUDGED, "r.csv": RETURNED}, **NAMED))
    assert outcome.datasets == ["d"]


def test_merged_runs_in_parquet_are_refused_with_their_files_too(session, configured):
    files = [name.replace("run", "parquet") for name in MERGED]
    columns = ["query_id", "q0", "doc_id", "rank", "score", "run"]
    for name, text in zip(files, MERGED.values(), strict=True):
        pd.read_csv(io.StringIO(text), sep=" ", names=columns).drop(columns="q0").astype(
            {"score": float}
        ).to_parquet(name)
    with pytest.raises(
        InputError, match=r"score 9\.5 in \S*b\.parquet and 9\.0 in \S*a\.parquet; "
    ):
        evaluated(configured(results={"path": files}))


ONE_LIST = "q1 Q0 a 1 9 r\nq1 Q0 b 2 8 r\nq1 Q0 c 1 7 r\nq2 Q0 c 1 6 r\n"
WARNED = "1 run(s) have lists with two results of rank 1 and different scores, e.g. run=r; "


#: Files of lists of which few have two results of rank 1.
MOSTLY_ONE_LIST = [
    {"a.run": ONE_LIST},
    {"a.run": ONE_LIST, "b.run": "q2 Q0 a 1 5 s\n"},
    # The same result of rank 1 in two files.
    {"a.run": ONE_LIST, "b.run": "q3 Q0 a 1 5 r\n"},
    {"a.run": "q1 Q0 a 1 9 r\nq1 Q0 b 0 8 r\nq1 Q0 c 1 7 r\n"},
]


@pytest.mark.parametrize("preset", on_spark(["standard", "trec_eval"], "trec_eval"))
@pytest.mark.parametrize("files", on_spark(MOSTLY_ONE_LIST, MOSTLY_ONE_LIST[1]))
def test_two_results_of_rank_1_in_one_file_are_a_warning(session, configured, files, preset):
    settings = configured(files, results={"path": [*files]}, convention={"preset": preset})
    outcome, told = evaluated(settings)
    assert [words[: len(WARNED)] for step, words in told if "rank 1" in words] == [WARNED]
    chosen = configured(results={"path": [*files]}, convention={"preset": preset, "order": "score"})
    expected, told = evaluated(chosen)
    scores = [row["ndcg"] for row in outcome.dataset_scores]
    assert scores == [row["ndcg"] for row in expected.dataset_scores]
    assert not [words for step, words in told if "rank 1" in words]


def test_of_many_lists_the_one_in_two_files_is_named(configured):
    files = {"a.run": ONE_LIST, "b.run": "q2 Q0 a 1 5 r\n", "c.run": "q1 Q0 z 1 5 s\n"}
    told = r"2 list.* 1 run.* run=r query_id=q2: score 6\.0 in \S*/a\.run and 5\.0 in \S*/b\.run"
    with pytest.raises(InputError, match=told):
        evaluated(configured(files, results={"path": [*files]}))


def test_files_that_are_given_one_name_are_two_runs(configured):
    files = {"a.run": "q1 Q0 a 1 9 r\nq1 Q0 b 2 8 r\n", "b.run": "q1 Q0 c 1 7 s\nq1 Q0 d 2 6 s\n"}
    with pytest.raises(InputError, match=r"1 list.* run=x query_id=q1: ") as refused:
        evaluated(configured(files, results={"path": [*files], "run": "x"}))
    assert SeparateRuns(is_run_given=True, are_files=True) in refused.value.advice.ways


@pytest.mark.parametrize(("queries", "is_refused"), [(2, True), (5, False)])
def test_part_files_hold_two_runs_if_most_lists_begin_twice(
    session, configured, tmp_path, queries, is_refused
):
    # Two lists begin twice, one of them in two part files.
    lists = []
    for number in range(queries):
        lists += [(f"q{number}", "a", 8.0, 1), (f"q{number}", "b", 7.0, 2)]
    parts = [[*lists, ("q1", "c", 5.0, 1)], [("q0", "c", 5.0, 1)]]
    (tmp_path / "runs").mkdir()
    for number, rows in enumerate(parts):
        table = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])
        table.to_parquet(tmp_path / "runs" / f"part-0000{number}.parquet")
    settings = configured(results={"path": str(tmp_path / "runs"), "run": "r"})
    if is_refused:
        with pytest.raises(InputError, match=r"2 list.* 1 run"):
            evaluated(settings)
    else:
        told = evaluated(settings)[1]
        assert [words[: len(WARNED)] for step, words in told if "rank 1" in words] == [WARNED]


@pytest.mark.parametrize(
    ("table", "convention", "runs"),
    [({"run_from": "file"}, {}, "abc"), ({}, {"order": "score"}, "rs")],
)
def test_whoever_says_what_names_or_orders_merged_lists_is_not_asked(
    configured, table, convention, runs
):
    outcome, _ = evaluated(
        configured(MERGED, results={"path": [*MERGED], **table}, convention=convention)
    )
    assert {row["run"] for row in outcome.dataset_scores} == {*runs}


def test_what_to_judge_next_is_not_told_of_a_document_that_is_returned_twice(session, configured):
    files = {"run.txt": "q1 Q0 x 1 9 r\nq1 Q0 x 2 8 r\nq2 Q0 y 1 8 r\n"}
    with pytest.raises(DuplicatesError, match=r"1 .* run=r query_id=q1 doc_id=x"):
        documents_to_judge(configured(files), 10)
    rows = documents_to_judge(configured(convention={"duplicates": "best"}), 10)
    named = ("query_id", "doc_id", "runs", "best_rank")
    assert [tuple(row[name] for name in named) for row in rows] == [
        ("q1", "x", 1, 1),
        ("q2", "y", 1, 1),
    ]


def changed(path, change, step):
    """What somebody does to a file when the input has been read."""
    if step == "read":
        text = QRELS if path.name == "qrels.txt" else RUN
        path.unlink(missing_ok=True)
        if change != "removed":
            text = (
                text.replace(" a ", " z ") if change == "replaced" else text.splitlines()[0] + "\n"
            )
            path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("file", on_spark(["qrels.txt", "run.txt"], "run.txt"))
@pytest.mark.parametrize("change", on_spark(["replaced", "shortened", "removed"], "replaced"))
def test_a_file_that_changes_after_it_was_checked(session, configured, tmp_path, file, change):
    with pytest.raises(InputError, match=rf"{file}"):
        evaluated(configured(output="out"), functools.partial(changed, tmp_path / file, change))
    assert refused_night(tmp_path) == [("refused", 3)]


def read_by_the_engine(*origins):
    """A table and those that are read with it, all from Parquet."""
    parts = [SimpleNamespace(format="parquet", origin=origin) for origin in origins]
    return SimpleNamespace(sources=parts)


@pytest.mark.embedded
def test_a_file_that_may_be_damaged_is_named_once():
    lists = read_by_the_engine("run.parquet", "seen.parquet")
    seen = SimpleNamespace(source=read_by_the_engine("seen.parquet"))
    checked = CheckedLists([SimpleNamespace(source=lists), seen], None, None, set())
    with pytest.raises(EngineError) as of_lists, counted_refusals(checked):
        raise PySparkException("gone")
    # Judgments and results in one table.
    one_table = read_by_the_engine("all.parquet")
    with pytest.raises(EngineError) as of_table, translated_failures([one_table, one_table]):
        raise PySparkException("gone")
    assert "damaged, run.parquet or seen.parquet" in str(of_lists.value)
    assert str(of_table.value).count("all.parquet") == 1


@pytest.mark.parametrize(
    ("judged", "returned", "problems"),
    [
        ("q1 0 a x\n", RUN, 0),
        (QRELS, "q1 Q0 a 1 x r\n", 0),
        ("q1 0 a x\n", "q1 Q0 a 1 x r\n", 2),
        ("", "", 2),
        ("q1\n", "q1 Q0 a 1 x r\n", 2),
    ],
)
def test_a_check_reports_what_is_wrong_with_both_tables(configured, judged, returned, problems):
    config = configured({"qrels.txt": judged, "run.txt": returned})
    with pytest.raises(InputError) as refused:
        checked(config)
    tables = [problem.sentence.split()[0].strip(":") for problem in refused.value.problems]
    assert tables == ["judgments", "results"][:problems]


@pytest.mark.embedded
def test_a_check_reports_judgments_even_if_the_storage_of_results_fails(configured, monkeypatch):
    fault = UnreachableError("results: the storage does not answer")
    monkeypatch.setattr(check_inputs, "results_source", mock.Mock(side_effect=fault))
    with pytest.raises(InputError) as refused:
        checked(configured({"qrels.txt": "q1 0 a x\n"}))
    assert [problem.sentence.split(":")[0] for problem in refused.value.problems] == [
        "judgments",
        "results",
    ]
