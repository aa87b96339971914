"""Rows that break a rule, the counts of the others, and what is refused or warned of as a probable mistake."""

import contextlib

import hypothesis
import pyarrow as pa
import pytest
from checked import settings, tables_of
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from sessions import many, on_spark, paired
from tables import assert_rows, judgment, judgments, result, results, table

from ndcg_spark import Convention
from ndcg_spark.contract import limits
from ndcg_spark.contract.counting import refuse_duplicates
from ndcg_spark.contract.scan import JudgmentCounts, ResultCounts, RunCounts, count_judgments
from ndcg_spark.errors import DuplicatesError, InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.schemas import FAULT, LINE


def rejections(checked):
    return [
        (rejection.reason, rejection.rows, rejection.example) for rejection in checked.rejections
    ]


#: Rows beside good ones: of which table, in which column, with which values, and how many break which rule.
BAD_ROWS = [
    ("no_query_id", judgment, "query_id", [None, ""], 2),
    ("no_doc_id", judgment, "doc_id", ["", "good"], 1),
    (
        "relevance_is_no_number",
        judgment,
        "relevance",
        ["high", "NaN", "Infinity", "-inf", None],
        5,
    ),
    ("relevance_without_gain", judgment, "relevance", ["300", "1024", "-2000"], 1),
    ("no_run", result, "run", [None, ""], 2),
    ("no_query_id", result, "query_id", [None, ""], 2),
    ("score_is_no_number", result, "score", ["best", None, "nan"], 3),
]
#: The same under options.
OF_GAINS = [("relevance_without_gain", judgment, "relevance", ["-4", "5"], 1)]
OF_SIGNS = [("relevance_negative", judgment, "relevance", ["-1", "0"], 1)]
OF_RANKS = [("rank_is_no_rank", result, "rank", [0, -1, None, 2**31 - 1], 3)]


#: By name, bad rows and the options under which they are bad.
UNDER = {
    "standard": (BAD_ROWS, {}),
    "gains": (OF_GAINS, {"negative": "keep", "gain": {-4: -1, 1: 1}}),
    "signs": (OF_SIGNS, {"negative": "error"}),
    "ranks": (OF_RANKS, {"order": "rank"}),
}


@pytest.mark.parametrize("name", on_spark(UNDER, "standard", "ranks"))
def test_bad_rows_are_counted_and_left_out(session, name):
    cases, options = UNDER[name]
    rows = {judgment: [judgment()], result: [result(rank=1)]}
    bad = {judgment: 0, result: 0}
    for _, make, column, values, count in cases:
        more = {"rank": None} if make is result and column != "rank" else {}
        rows[make] += [make(**more, **{column: value}) for value in values]
        bad[make] += count
    checked = tables_of(session, *rows.values(), convention=options)
    found = sorted(rejection[:2] for rejection in rejections(checked))
    assert found == sorted((reason, count) for reason, *_, count in cases)
    for make, counts, good in (
        (judgment, checked.judgment_counts, checked.judgments),
        (result, checked.result_counts, checked.results),
    ):
        assert (counts.rows, counts.rejected) == (len(rows[make]), bad[make])
        assert good.count() == len(rows[make]) - bad[make]


def test_the_example_of_a_bad_row_is_cut(session):
    checked = tables_of(session, [judgment(), judgment("d" * 500, "x")], [result()])
    assert rejections(checked) == [
        ("relevance_is_no_number", 1, f"query_id=q1 doc_id={'d' * 500}"[:200])
    ]


def test_rejected_rows_keep_their_text(session):
    lines = [(None, None), (None, None), ("broken_line", "q1 Q0")]
    rows = [result("d1"), result("d2", "best"), result(None, None, "")]
    rows = [
        {**row, FAULT: fault, LINE: line} for row, (fault, line) in zip(rows, lines, strict=True)
    ]
    read = table(
        session,
        rows,
        f"run string, query_id string, doc_id string, score string, {FAULT} string, {LINE} string",
    )
    checked = tables_of(session, [judgment()], read)
    assert rejections(checked) == [
        ("broken_line", 1, "q1 Q0"),
        ("score_is_no_number", 1, "run=r query_id=q1 doc_id=d2 score=best"),
    ]
    (rejected,) = checked.rejected
    assert_rows(
        rejected.select(
            "table", "reason", "run", "query_id", "doc_id", "score", "line", "relevance", "rank"
        ),
        ("results", "score_is_no_number", "r", "q1", "d2", "best", None, None, None),
        ("results", "broken_line", "r", "", None, None, "q1 Q0", None, None),
    )


def runs_of(checked):
    return {
        (run.dataset, run.run): (
            run.rows,
            run.judged_queries,
            run.unjudged_queries,
            run.unjudged_rows,
        )
        for run in checked.result_counts.runs
    }


def test_queries_are_counted_by_dataset_and_run(session):
    judged = [
        judgment(dataset="web"),
        judgment(query_id="q2", dataset="web"),
        judgment(dataset="shop"),
    ]
    returned = [
        *(result(doc, dataset="web") for doc in ("d1", "d2")),
        result(query_id="q9", dataset="web"),
        result(dataset="shop", query_id="q2"),
        # Of these runs no row is good, and nobody judged the dataset of one.
        result(score="x", dataset="shop", run="s"),
        result(score="x", dataset="none", run="s"),
    ]
    checked = tables_of(session, judged, returned)
    assert checked.judgment_counts.queries == {"web": 2, "shop": 1}
    assert runs_of(checked) == {
        ("web", "r"): (3, 1, 1, 1),
        ("shop", "r"): (1, 0, 1, 1),
        ("shop", "s"): (0, 0, 0, 0),
    }
    assert checked.counts(2)["missing_queries"] == 1 + 1 + 1


#: Names of runs by files, and which runs they add.
NAMED = [
    ([(None, "a")], []),
    ([(None, "b")], [("web", "b"), ("shop", "b")]),
    ([("web", "a"), ("shop", "a")], [("shop", "a")]),
    ([("web", "c")], [("web", "c")]),
]


@pytest.mark.parametrize(("named", "added"), on_spark(NAMED, NAMED[1]))
def test_runs_of_files_without_rows_are_runs(session, named, added):
    judged = [judgment(dataset=name) for name in ("web", "shop")]
    returned = [result(dataset="web", run="a"), result(dataset="shop", run="z")]
    checked = tables_of(session, judged, returned, runs=dict.fromkeys(named, 0))
    assert sorted(runs_of(checked)) == sorted([("web", "a"), ("shop", "z"), *added])


def test_excluded_results_are_counted(session):
    rows = [result("d1"), result("d2"), result("d3", "x"), result("d1", query_id="q2")]
    judged = [judgment(query_id=query) for query in ("q1", "q2")]

    def excluding(*pairs):
        exclude = session.createDataFrame([*pairs], "query_id string, doc_id string")
        source = Source(exclude, "exclude", "csv", [])
        return tables_of(session, judged, rows, without=source)

    checked = excluding(("q1", "d1"), ("q2", "d1"), ("q2", "d1"), ("q1", "d3"))
    assert runs_of(checked) == {(None, "r"): (1, 1, 0, 0)}
    assert (
        checked.result_counts.excluded,
        checked.result_counts.rows,
        checked.result_counts.rejected,
    ) == (2, 4, 1)
    assert_rows(checked.results.select("query_id", "doc_id"), ("q1", "d2"))
    with pytest.raises(
        InputError, match=r"^results: 1 run.* 0 unjudged .*; exclude removed 3 results"
    ):
        excluding(("q1", "d1"), ("q1", "d2"), ("q2", "d1"))
    with pytest.raises(InputError, match=r"^exclude: 1 row"):
        excluding(("q1", ""))


def test_ids_of_both_tables_are_shown_if_no_query_is_in_both(session):
    both = r"judgments \(query_id=q1\) and results \(query_id=1\)"
    with pytest.raises(InputError, match=f"^results: 1 run.* 1 unjudged .*{both}"):
        tables_of(session, [judgment()], [result(query_id="1")])


def test_ids_that_are_numbers_count_as_their_text(session):
    judged = session.createDataFrame(
        pa.table({"query_id": ["7"], "doc_id": ["1"], "relevance": [1]})
    )
    numbers, texts = (
        session.createDataFrame(
            pa.table({"run": ["a"], "query_id": [query], "doc_id": ["1"], "score": [1.0]})
        )
        for query in (7, "7")
    )
    one, other = (tables_of(session, judged, rows).result_counts for rows in (numbers, texts))
    assert one == other
    assert one.runs[0].judged_queries == 1


DOCUMENTS = st.lists(
    st.tuples(st.sampled_from(["d1", "d2", ""]), st.sampled_from(["1", "1.0", "2", "x"])),
    max_size=4,
)


@pytest.mark.slow
@given(DOCUMENTS, DOCUMENTS, st.randoms())
@hypothesis.settings(max_examples=many(15, 2, 100), deadline=None)
def test_fingerprints_are_of_the_rows(session, one, other, chance):
    def fingerprint(rows):
        made = [judgment("good"), *(judgment(*row) for row in rows)]
        chance.shuffle(made)
        return tables_of(session, made, [result()]).judgment_counts.fingerprint

    same = [sorted((doc, grade.removesuffix(".0")) for doc, grade in rows) for rows in (one, other)]
    is_text = any(grade == "x" for _, grade in [*one, *other])
    assert is_text or (fingerprint(one) == fingerprint(other)) == (same[0] == same[1])


def test_every_row_of_a_list_is_in_its_fingerprint(session):
    """Changed, twice, or left out: whichever row it is."""
    rows = [result(f"d{at}", float(at)) for at in range(4)]
    made = [rows]
    # On classic Spark, the last one.
    for at in range(many(0, 3, 0), len(rows)):
        row = rows[at]
        rest = rows[:at] + rows[at + 1 :]
        made += [[*rest, result(f"d{at}", 9.0)], [*rows, row], rest]
    counts = [tables_of(session, [judgment()], given).result_counts for given in made]
    assert len({count.fingerprint for count in counts}) == len(made)


RANKED = [result(rank=1), result("d2", rank=1)]
DUPLICATES = [
    ([judgment()] * 2, [result()], {}, True),
    ([judgment()] * 2, [result()], {"judgment_duplicates": "max"}, False),
    ([judgment()], [result()] * 2, {}, True),
    ([judgment()], [result()] * 2, {"duplicates": "best"}, False),
    ([judgment()], [result(), result(run="s"), result(query_id="q2")], {}, False),
    ([judgment()], RANKED, {}, False),
    ([judgment()], RANKED, {"order": "rank"}, True),
    ([judgment()], [result(rank=1)] * 2, {"order": "rank", "duplicates": "best"}, False),
]


@pytest.mark.parametrize(
    ("judged", "returned", "options", "is_refused"), on_spark(DUPLICATES, *DUPLICATES[::2])
)
def test_duplicates(session, judged, returned, options, is_refused):
    checked = tables_of(session, judged, returned, convention=options)
    sources = [Source(getattr(checked, name), name, "csv", []) for name in ("judgments", "results")]
    with pytest.raises(DuplicatesError) if is_refused else contextlib.nullcontext():
        refuse_duplicates(checked, *sources, settings(convention=options).convention)


def ranked(*pairs, query="q1"):
    return [result(f"d{at}", score, query, rank=rank) for at, (rank, score) in enumerate(pairs)]


FALLING, RISING = [(1, 9.0), (2, 8.0), (3, 7.0)], [(1, 7.0), (2, 8.0), (3, 9.0)]


def check_lists(session, lists, files, **options):
    """The check of runs, each of one list of ranks and scores, in a table of so many files."""
    paths = [File(f"{number}.run", 1) for number in range(files)]
    rows = []
    for number, pairs in enumerate(lists):
        rows += [{**row, "run": f"r{number}"} for row in ranked(*pairs)]
    return tables_of(session, [judgment()], results(session, rows), files=paths, **options)


AGAIN = [(1, 9.0), (2, 8.0), (1, 7.0)]
AGAIN_FROM_0 = [(0, 9.0), (1, 8.0), (0, 7.0), (1, 6.0)]
RISING_FROM_0 = [(0, 0.1), (1, 0.2), (2, 0.3)]
#: The first results of two files, or ranks that nobody has given.
ONLY_FIRST = [(1, 9.0), (1, 8.0)]


@pytest.mark.parametrize(
    ("lists", "files"),
    [
        (
            [
                FALLING,
                [(0, 9.0), (1, 8.0), (2, 7.0)],
                # Two results with the ranks 0 and 1 prove nothing, nor do equal scores.
                [(0, 8.0), (1, 9.0)],
                [(1, 5.0), (2, 5.0)],
                # Of one file they are one list, of a table of many files they may be of two runs.
                AGAIN,
                ONLY_FIRST,
            ],
            1,
        ),
        ([[(1, 9.0), (2, 8.0), (1, 9.0)], [(1, 9.0), (2, 8.0), (2, 7.0)]], 2),
    ],
)
def test_ranks_that_do_not_contradict_scores(session, lists, files):
    assert len(check_lists(session, lists, files).result_counts.runs) == len(lists)


def test_ranks_that_contradict_scores(session):
    with pytest.raises(InputError, match=r"contradict each other in all lists of 2 run"):
        check_lists(session, [FALLING, RISING, RISING_FROM_0], 1)


#: Runs of two files as one list, and in how many files they are found.
MERGED = [(AGAIN, 0), (AGAIN, 2), (AGAIN_FROM_0, 2), (ONLY_FIRST, 2)]


@pytest.mark.parametrize(("pairs", "files"), on_spark(MERGED, *MERGED[2:]))
def test_ranks_of_two_lists_in_one(session, pairs, files):
    with pytest.raises(InputError, match="rank 1"):
        check_lists(session, [FALLING, pairs], files)


def test_ranks_that_contradict_scores_count_nothing_where_the_order_is_chosen(session):
    lists = [RISING, RISING_FROM_0, AGAIN, AGAIN_FROM_0, ONLY_FIRST]
    check_lists(session, lists, 2, convention={"order": "score"})
    counts = check_lists(session, lists[:2], 1, convention="trec_eval").result_counts
    assert [run.reversed_lists for run in counts.runs] == [1, 1]


#: Fused scores, ranks that nobody has given, and lists that prove nothing.
NOT_SWAPPED = {
    "not ranks": [(9, 1.0), (8, 2.0), (7, 3.5)],
    "in order": [(1, 3.0), (2, 2.0), (3, 1.0)],
    "all 0": [(0, 3.0), (0, 2.0), (0, 1.0)],
    "none": [(None, 3.0), (None, 2.0), (None, 1.0)],
    "one": [(9, 1.0)],
}


@pytest.mark.parametrize("preset", on_spark(["standard", "trec_eval"], "trec_eval"))
def test_score_and_rank_that_are_not_swapped_are_taken(session, preset):
    check_lists(session, NOT_SWAPPED.values(), 1, convention=preset)


@pytest.mark.parametrize("preset", on_spark(["standard", "trec_eval"], "trec_eval"))
def test_score_and_rank_that_are_swapped_are_refused(session, preset):
    lists = [[(9, 1.0), (8, 2.0), (7, 3.0)], [(7, 0.0), (4, 1.0), (1, 2.0)]]
    with pytest.raises(InputError, match=r"swapped in most lists of 2 run"):
        check_lists(session, lists, 1, convention=preset)
    check_lists(session, lists, 1, convention={"preset": preset, "order": "score"})


#: Ranks of each type, and how many are no whole numbers.
RANKS = {
    "double": ([1.0, 2.5, None, float("nan")], 1),
    "text": (["1", "9.5", None, "x"], 2),
    "text of whole numbers": (["1.0", "-3", "", "2"], 0),
    "whole": ([1, -5, None, 2**40], 0),
}


@pytest.mark.parametrize(
    ("kind", "preset"),
    on_spark(
        paired(RANKS, ["standard", "trec_eval"]), ("double", "standard"), ("text", "standard")
    ),
)
def test_a_rank_is_a_whole_number_even_where_scores_decide(session, kind, preset):
    ranks, bad = RANKS[kind]
    ids = {"query_id": ["q1"] * 4, "run": ["r"] * 4, "doc_id": ["a", "b", "c", "d"]}
    rows = session.createDataFrame(pa.table({**ids, "score": [4.5, 3.0, 2.0, 1.0], "rank": ranks}))
    checked = tables_of(session, [judgment()], rows, convention=preset)
    found = [rejection[:2] for rejection in rejections(checked)]
    assert found == [("rank_is_no_number", bad)] * (bad > 0)


def test_one_list_in_order_settles_all_of_a_run(session):
    rows = results(session, [*ranked(*RISING), *ranked(*FALLING, query="q2")])
    (run,) = tables_of(session, [judgment()], rows).result_counts.runs
    assert (run.ranked_lists, run.reversed_lists) == (2, 1)


def about(options=None, **counts):
    runs = [
        RunCounts(None, "a", 9, 1, 0),
        RunCounts(None, "r", **{"rows": 9, "judged_queries": 1, **counts}),
    ]
    counted = JudgmentCounts(rows=1, queries={None: 3}), [], ResultCounts(rows=18, runs=runs)
    notices = limits.about_input(*counted, Convention(**options or {}))
    return [notice.sentence.split(", e.g. run=r")[0] for notice in notices]


@pytest.mark.parametrize(
    ("counts", "beginning"),
    [
        ({}, None),
        (
            {"judged_queries": 0, "unjudged_queries": 2},
            "1 run(s) answered fewer than half of the judged queries",
        ),
        (
            {"judged_queries": 1, "unjudged_queries": 2},
            "1 run(s) answered fewer than half of the judged queries",
        ),
        ({"judged_queries": 1, "unjudged_queries": 1}, None),
        ({"judged_queries": 2, "unjudged_queries": 9}, None),
        ({"rows": 0, "judged_queries": 0}, "1 run(s) have no results"),
        ({"lists": 2, "tied_lists": 1}, None),
        ({"lists": 2, "tied_lists": 2}, "1 run(s) give all results of a query the same score"),
        ({"lists": 2, "tied_lists": 2, "options": {"order": "rank"}}, None),
        ({"ranked_lists": 2, "reversed_lists": 2}, "1 run(s) have ranks that contradict"),
        ({"ranked_lists": 2, "reversed_lists": 1}, None),
    ],
)
def test_warnings_about_a_run(counts, beginning):
    assert [sentence.startswith(beginning or "-") for sentence in about(**counts)] == [True] * (
        beginning is not None
    )


@pytest.mark.parametrize(
    ("name", "rows", "queries", "is_warned"),
    [
        ("bm", 1, 1, True),
        ("other", 1, 1, True),
        ("bm", 9, 1, True),
        ("bm", 9, 2, False),
        ("bm", 11, 1, False),
    ],
)
def test_a_run_of_a_few_lines_beside_another_is_warned_of(name, rows, queries, is_warned):
    runs = [RunCounts(None, "bm25", 100, 5, 0), RunCounts(None, name, rows, queries, 0)]
    counted = JudgmentCounts(rows=1, queries={None: 5}), [], ResultCounts(rows=101, runs=runs)
    sentences = map(str, limits.about_input(*counted, Convention()))
    expected = f"1 run(s) have results for only one query, e.g. run={name}; it has {rows} result(s)"
    assert [sentence.startswith(expected) for sentence in sentences] == [True] * is_warned


def test_a_dataset_without_results():
    counted = JudgmentCounts(rows=1, queries={"web": 3, "shop": 1})
    returned = ResultCounts(rows=1, runs=[RunCounts("web", "r", 1, 1)])
    (notice,) = limits.about_input(counted, ["shop"], returned, Convention())
    assert notice.sentence.startswith(
        "1 dataset(s) have judgments but no results, e.g. shop with 1 queries"
    )


#: Grades, and whether the highest is far above the others.
FAR = [
    ([0, 1, 2, 3] * 5 + [33], True),
    ([0, 1] * 5 + [11] * 5, True),
    ([0, 1, 2, 3] * 5 + [33] * 6, False),
    ([0, 1, 2, 3] * 5 + [9], False),
    # Clicks have no scale.
    ([0, 1, 8, 30, 1000], False),
    ([0, 33], False),
    ([0, 1, 5], False),
]


@pytest.mark.parametrize(("grades", "is_said"), on_spark(FAR, FAR[0], FAR[2]))
def test_a_grade_far_above_the_scale_of_the_others_is_mentioned(session, grades, is_said):
    rows = [judgment(f"d{at}", float(grade)) for at, grade in enumerate(grades)]
    counts = count_judgments(judgments(session, rows), F.lit(None).cast("string"))
    said = [one.sentence for one in limits.about_far_grade(counts)]
    assert [f"{max(grades)}" in one for one in said] == [True] * is_said
