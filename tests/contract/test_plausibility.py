"""Input that breaks no rule and is hardly what was meant: what is refused with a question, and what is told."""

from types import SimpleNamespace

import pytest
from logged import logged_steps
from tables import result, table

from ndcg_spark import Convention
from ndcg_spark.config import ResultsConfig, validate
from ndcg_spark.contract import aggregates, ambiguity, plausibility
from ndcg_spark.contract.checked_tables import CheckedTables
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.contract.limits import refuse_breaches
from ndcg_spark.contract.scan import count_results, with_empty_runs
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import refuse_other
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.progress import warn_of_input
from ndcg_spark.rules import RULES, broken_results, reason_of

QREL, RUN_LINE = "q1 0 d1 2", "q1 Q0 d1 1 3.5 bm25"


def returned(*runs):
    return ResultCounts(sum(run.rows for run in runs), list(runs), [])


def broken_lines(table, line, rows=10):
    return [Breach(table, "broken_line", rows, line)]


@pytest.mark.parametrize(
    ("table", "line", "question"),
    [("judgments", RUN_LINE, "is this the results file?"), ("results", QREL, "is this the judgments file?")],
)
def test_a_file_of_the_other_table_is_asked_about(table, line, question):
    with pytest.raises(InputError, match=f"; {question[:-1]}"):
        refuse_breaches(table, broken_lines(table, line), 10, "file.txt")


@pytest.mark.parametrize(
    ("table", "line", "rows"),
    [("judgments", RUN_LINE, 9), ("results", QREL, 9), ("judgments", "a b c d e f", 10), ("results", "a b c", 10)],
)
def test_a_file_with_some_broken_lines_or_lines_of_no_table_is_not(table, line, rows):
    assert plausibility.question_about(table, broken_lines(table, line, rows), 10) == ""


@pytest.mark.parametrize("columns", [["run", "query_id", "doc_id", "score"], ["run", "query_id", "doc_id", "rank"]])
def test_columns_of_results_are_no_judgments(columns):
    with pytest.raises(InputError, match="is this the results file"):
        refuse_other(columns, ["dataset", "query_id", "doc_id", "relevance"], "judgments")
    refuse_other([*columns, "relevance"], ["dataset", "query_id", "doc_id", "relevance"], "judgments")
    refuse_other(columns, ["dataset", "query_id", "doc_id", "rank"], "judgments: rank is the relevance")


def test_columns_of_judgments_are_no_results():
    columns, wanted = ["query_id", "doc_id", "relevance"], ["run", "query_id", "doc_id", "score", "rank"]
    with pytest.raises(InputError, match="is this the judgments file"):
        refuse_other(columns, wanted, "results")
    refuse_other([*columns, "score"], wanted, "results")
    refuse_other(columns, ["run", "query_id", "doc_id", "relevance"], "results: the relevance is the score")


def read_from(file):
    return Source(None, "results", "trec", [file])


def test_a_hundred_thousand_runs_of_one_result_each_are_questioned():
    foreign = [RunCounts(None, f"{number / 7}", 1, 1, 0) for number in range(100_544)]
    with pytest.raises(
        InputError, match=r"100,544 runs of 1\.0 results each, e\.g\. run=0\.0, in x\.run; .*give .* with --run NAME"
    ):
        ambiguity.refuse_values_as_runs(returned(*foreign), read_from(File("x.run", 1)), ResultsConfig(path="x.run"))


def test_whoever_did_not_choose_a_convention_is_told_how_grades_gain():
    def judged(best):
        return JudgmentCounts(1, {None: 1}, [], best_grade=best)

    assert plausibility.of_the_default(judged(3.0), Convention()) == (
        "grades up to 3 gain 2^grade - 1 here (up to 7), and trec_eval's gain is linear: --convention trec_eval_9"
    )
    # With grades of 0 and 1 both gains are the same.
    assert plausibility.of_the_default(judged(1.0), Convention()) is None
    assert plausibility.of_the_default(judged(None), Convention()) is None
    assert plausibility.of_the_default(judged(3.0), Convention.preset("trec_eval")) is None


def told(judged=None, runs=(), measures=None, **settings):
    """What is told of a check of TREC files with these counts."""
    given = {"judgments": {"path": "qrels"}, "results": {"path": "run"}, **settings}
    config = validate({**given, "measures": measures} if measures else given, "test")
    # As results without scores and measures that know the highest grade change it.
    config = config.model_copy(update={"convention": config.convention.replace(max_grade=3.0, order="rank")})
    counts = judged or JudgmentCounts(1, {None: 1}, [], best_grade=3.0)
    checked = CheckedTables(None, None, counts, returned(*runs))
    sources = [Source(None, name, "trec", []) for name in ("judgments", "results")]
    with logged_steps() as said:
        warn_of_input(sources, checked, config)
    return said


@pytest.mark.parametrize("measures", [None, ["nDCG@10", "AP(rel=2)"]])
def test_that_gain_is_not_linear_is_told_whichever_way_ndcg_is_asked_for(measures):
    ((step, sentence),) = told(measures=measures)
    assert (step, "trec_eval's gain is linear" in sentence) == ("note", True)
    for preset in ("standard", "trec_eval"):
        assert told(measures=measures, convention={"preset": preset}) == []


def test_that_gain_is_not_linear_is_not_told_where_no_ndcg_is_shown():
    assert told(measures=["P@10", "AP"]) == []


def test_a_run_that_answered_only_unjudged_queries_is_told_with_their_number():
    known = RunCounts(None, "bm25", 10, 5, 2)
    strangers = [RunCounts(None, f"new{n}", 12, 0, 1200, 12) for n in (2, 1)]
    assert plausibility.of_unjudged_runs(returned(known)) is None
    ((step, sentence),) = told(runs=[known, *strangers], convention={"preset": "trec_eval"})
    assert (step, sentence) == (
        "warning",
        "2 run(s) answered no judged query, e.g. run=new1, whose 1,200 queries are all unjudged; check that both "
        "tables write query ids (and datasets) alike",
    )
    # A run without a row answered nothing, which is told as such.
    assert plausibility.of_unjudged_runs(returned(known, RunCounts(None, "empty", 0, 0, 0))) is None
    of_dataset = plausibility.of_unjudged_runs(returned(known, RunCounts("web", "bm25", 1, 0, 1)))
    assert "e.g. run=bm25 dataset=web, whose 1 queries" in (of_dataset or "")


def run_counts(session, rows):
    read = table(session, rows, "run string, query_id string, doc_id string, score string")
    reason = reason_of(broken_results(dict(read.dtypes), Convention()))
    return count_results(read, reason, session.createDataFrame([("q1",)], "query_id string"))


def test_a_run_whose_scores_are_all_tied_is_told_by_the_counts_of_the_check(session):
    tied = [result("a", 1.0, "q1"), result("b", 1.0, "q1"), result("a", 2.0, "q2"), result("c", 3.0, "q3")]
    ordered = [result("a", 1.0, "q1", "good"), result("b", 1.0, "q1", "good"), result("c", 0.5, "q2", "good")]
    ordered.append(result("d", 0.7, "q2", "good"))
    counts = run_counts(session, [*tied, *ordered])
    by_run = {run.run: (run.lists, run.tied_lists) for run in counts.runs}
    # A list of one result ties with nothing.
    assert by_run == {"r": (1, 1), "good": (2, 1)}
    told = plausibility.of_ties(counts, Convention())
    assert told is not None
    assert told.startswith("1 run(s) give all results of a query the same score, e.g. run=r, so their order is that of")
    assert plausibility.of_ties(counts, Convention(order="rank")) is None


def test_a_run_without_a_judged_document_is_told():
    rows = [{"run": "a", "cutoff": 1, "judged_rate": 0.0}, {"run": "a", "cutoff": None, "judged_rate": 0.5}]
    assert plausibility.of_judged_rates(rows, None) is None
    assert (plausibility.of_judged_rates(rows, 1) or "").startswith(
        "1 run(s) returned no judged document within the cutoff 1"
    )
    # A run that returned nothing has no rate.
    assert plausibility.of_judged_rates([{"run": "a", "cutoff": 1, "judged_rate": None}], 1) is None


@pytest.mark.parametrize("code", RULES)
def test_no_code_is_said_to_a_person(code):
    with pytest.raises(InputError) as refused:
        refuse_breaches("results", [Breach("results", code, 10, "example")], 10, "x.run")
    assert code not in str(refused.value)


def run_of(name="r", rows=2, **counts):
    return RunCounts(None, name, rows, 1, 0, **counts)


def test_ranks_that_say_the_opposite_of_the_scores_are_told_where_other_runs_do_not():
    runs = returned(run_of("a", ranked_lists=2, reversed_lists=2), run_of("b", ranked_lists=2, reversed_lists=1))
    told = plausibility.of_ranks(runs, Convention())
    assert told is not None
    assert told.startswith("in every list of 1 run(s), e.g. run=a, score and rank contradict each other")
    assert plausibility.of_ranks(runs, Convention(order="rank")) is None
    assert plausibility.of_ranks(returned(run_of("b", ranked_lists=2), run_of("c")), Convention()) is None


def test_a_rank_that_a_list_has_twice_is_told_where_scores_are_the_order():
    told = plausibility.of_ranks(returned(run_of("a"), run_of("b", repeated_lists=3)), Convention())
    assert told is not None
    assert told.startswith("1 run(s) have the rank 1 twice in a list, e.g. run=b in 3 of its lists; scores decide")


def rows_of_pairs(lists):
    return [
        result(f"d{at}", score, f"q{number}", rank=rank)
        for number, pairs in enumerate(lists)
        for at, (rank, score) in enumerate(pairs)
    ]


def ranked_counts(session, *lists):
    """The counts of lists of (rank, score), each of a query of its own, of the run r."""
    read = table(session, rows_of_pairs(lists), "run string, query_id string, doc_id string, score double")
    reason = reason_of(broken_results(dict(read.dtypes), Convention()))
    judged = session.createDataFrame([("q0",)], "query_id string")
    (run,) = count_results(read, reason, judged, further=[aggregates.ranks_beside_scores(read, reason)]).runs
    return run.ranked_lists, run.reversed_lists, run.repeated_lists, run.counting_lists


def merged_counts(session, files, *lists):
    """How many of these lists are two, and the query of one; both for tables of so many files."""
    read = table(session, rows_of_pairs(lists), "run string, query_id string, doc_id string, score double")
    reason = reason_of(broken_results(dict(read.dtypes), Convention()))
    judged = session.createDataFrame([("q0",)], "query_id string")
    (run,) = count_results(read, reason, judged, further=[aggregates.ranks_beside_scores(read, reason, files)]).runs
    return run.merged_lists, run.merged_query


@pytest.mark.parametrize(
    ("pairs", "files", "merged"),
    [
        ([(1, 9.0), (2, 8.0), (1, 7.0)], 1, True),
        ([(1, 9.0), (2, 8.0), (1, 7.0), (2, 6.0)], 2, True),
        ([(0, 9.0), (1, 8.0), (0, 7.0), (1, 6.0)], 2, True),
        ([(1, 9.0), (2, 8.0), (1, 9.0)], 2, False),
        ([(0, 7.0), (1, 8.0), (1, 8.0)], 2, False),
        ([(1, 9.0), (2, 8.0), (2, 7.0)], 2, False),
        ([(1, 9.0), (1, None), (2, 8.0)], 2, False),
        # Ranks that nobody has given, or the first results of two files.
        ([(1, 9.0), (1, 8.0)], 1, False),
        ([(1, 9.0), (1, 8.0)], 2, True),
    ],
)
def test_a_list_with_two_scores_of_rank_1_is_two(session, pairs, files, merged):
    found = merged_counts(session, files, [(1, 2.0), (2, 1.0)], pairs)
    assert found == ((1, "q1") if merged else (0, None))


@pytest.mark.parametrize(
    ("pairs", "counts"),
    [
        ([(1, 9.0), (2, 8.0), (3, 7.0)], (1, 0, 0, 0)),
        ([(1, 0.1), (2, 0.2), (3, 0.3)], (1, 1, 0, 0)),
        ([(0, 0.1), (1, 0.2), (2, 0.3)], (1, 1, 0, 0)),
        ([(0, 9.0), (1, 8.0), (2, 7.0)], (1, 0, 0, 0)),
        # Of two results with the ranks 0 and 1 nothing is said.
        ([(0, 9.0), (1, 8.0)], (0, 0, 0, 0)),
        # Two pages of results.
        ([(1, 9.0), (2, 8.0), (1, 7.0)], (1, 0, 1, 0)),
        # Ranks that nobody has given.
        ([(0, 9.0), (0, 8.0), (0, 7.0)], (0, 0, 0, 0)),
        ([(1, 9.0), (1, 8.0), (1, 7.0)], (0, 0, 0, 0)),
        ([(1, 5.0), (2, 5.0)], (0, 0, 0, 0)),
        ([(1, 0.1)], (0, 0, 0, 0)),
        ([(9, 1.0), (7, 2.0), (5, 3.0)], (0, 0, 0, 1)),
        ([(None, 0.0), (None, 1.0)], (0, 0, 0, 1)),
    ],
)
def test_what_ranks_say_beside_scores_is_counted_list_by_list(session, pairs, counts):
    assert ranked_counts(session, pairs) == counts


def stored_as(kind):
    return Source(SimpleNamespace(dtypes=[("score", kind)]), "results", "parquet", [])


@pytest.mark.parametrize("kind", ["bigint", "string", "decimal(20,0)"])
def test_scores_that_a_double_does_not_tell_apart_are_told(kind):
    large = returned(run_of(largest_score=2.0**53))
    told = plausibility.of_large_scores(large, stored_as(kind), Convention())
    assert told is not None
    assert told.startswith(
        "1 run(s) have scores of 2^53 (9,007,199,254,740,992) or more, e.g. run=r has 9007199254740992; "
    )
    assert plausibility.of_large_scores(large, stored_as("double"), Convention()) is None
    assert plausibility.of_large_scores(returned(run_of(largest_score=2.0**52)), stored_as(kind), Convention()) is None


def test_runs_without_results_are_told():
    told = plausibility.of_empty_runs(returned(run_of("a"), run_of("b", 0)))
    assert told == "1 run(s) have no results, e.g. run=b; they lack every query"
    assert plausibility.of_empty_runs(returned(run_of("a"))) is None


def test_a_run_of_which_no_row_arrived_is_a_run_of_every_dataset_or_of_that_of_its_folder():
    counts = returned(RunCounts("web", "a", 1, 1, 0), RunCounts("shop", "a", 1, 1, 0))
    found = with_empty_runs(counts, [(None, "a"), (None, "b"), ("web", "c")])
    assert [(run.dataset, run.run, run.rows) for run in found.runs[2:]] == [
        ("web", "b", 0),
        ("shop", "b", 0),
        ("web", "c", 0),
    ]
