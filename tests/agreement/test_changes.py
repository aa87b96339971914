"""What made the means change since an earlier night: lists, judgments and queries, which sum to the change."""

import json
import math
import random

import pytest
from staying import command_line

PARTS = ("of_lists", "of_judgments", "of_queries")
#: Of a document at rank 1, 2 and 3.
DISCOUNTS = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]


def parts_of(_, *sides):
    """The rows of `change_parts` of tables with rows (query_id, ndcg, judgments_hash, returned) of one run."""
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ndcg_spark.agreement.changes import change_parts

    kinds = {"run": pa.string(), "query_id": pa.string(), "cutoff": pa.int32(), "ndcg": pa.float64()}
    kinds |= {"judgments_hash": pa.int64(), "returned": pa.int64()}

    def table(rows):
        columns = zip(*(("r", query, None, *rest) for query, *rest in rows), strict=True)
        arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds.values(), strict=True)]
        return SparkSession.getActiveSession().createDataFrame(pa.table(dict(zip(kinds, arrays, strict=True))))

    return [row.asDict() for row in change_parts(*map(table, sides)).collect()]


def test_the_parts_are_those_of_the_queries_that_all_three_score(evaluate_embedded):
    before = [("q1", 0.5, 1, 3), ("q2", 0.1, 1, 3), ("q3", 0.9, 1, 3)]
    # Only q2 has other judgments; q3 is not judged any more.
    after = [("q1", 0.7, 1, 3), ("q2", 0.5, 2, 3)]
    (row,) = evaluate_embedded.call(parts_of, before, [("q2", 0.2, 1, 3)], after, [("q2", 0.5, 2, 3)])
    assert (row["run"], row["cutoff"], row["queries"], row["wrong"]) == ("r", None, 2, 0)
    assert row["change"] == pytest.approx((0.7 + 0.5) / 2 - (0.5 + 0.1 + 0.9) / 3)
    assert row["of_lists"] == pytest.approx((0.2 + 0.1) / 2)
    assert row["of_judgments"] == pytest.approx((0.0 + 0.3) / 2)
    # The third query was above the mean of the others.
    assert row["of_queries"] == pytest.approx((0.5 + 0.1) / 2 - (0.5 + 0.1 + 0.9) / 3)


@pytest.mark.parametrize("again", [("q1", 0.5 + 2e-12, 2, 3), ("q1", 0.5, 2, 2), ("q1", None, 2, 3), ("q2", 0.5, 2, 3)])
def test_a_list_that_does_not_give_its_score_again_is_counted(evaluate_embedded, again):
    sides = [[("q1", 0.4, 1, 3)], [("q1", 0.3, 1, 3)], [("q1", 0.5, 2, 3)]]
    found = [evaluate_embedded.call(parts_of, *sides, [each])[0]["wrong"] for each in (("q1", 0.5, 2, 3), again)]
    assert found == [0, 1]


def judged(seed, queries):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    return [f"q{query} 0 d{doc} {chance.choice([0, 0, 1, 2, 3])}\n" for query in queries for doc in range(8)]


def returned(seed, queries, documents=8):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    lists = {query: chance.sample([f"d{doc}" for doc in range(12)], documents) for query in queries}
    # Neighbours tie.
    return [f"q{q} Q0 {doc} {n} {-(n // 2)} r\n" for q, docs in lists.items() for n, doc in enumerate(docs, 1)]


def nights(folder, *sides, documents="lists", more=()):
    """Nights of these judgments and results, one a day."""
    for day, (qrels, run) in enumerate(sides, 1):
        (folder / "qrels").write_text("".join(qrels), encoding="utf-8")
        (folder / "x.run").write_text("".join(run), encoding="utf-8")
        night = ("--output", "out", "--date", f"2026-11-0{day}", "--documents", documents, "--cutoffs", "3,5")
        done = command_line("evaluate", "qrels", "x.run", *night, *more, cwd=folder)
        assert done.returncode == 0, done.stderr


def compared(folder, *arguments):
    since = ("compare", "out", "--date", "2026-11-02", "--baseline-date", "2026-11-01", "--engine", "embedded")
    done = command_line(*since, *arguments, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def means(folder):
    done = command_line("nights", "out", "--format", "json", cwd=folder)
    return [{row["cutoff"]: row["ndcg"] for row in night["dataset_scores"]} for night in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("lists", "queries", "more", "moved"),
    [
        (3, range(6), (), {"of_judgments"}),
        (4, range(6), (), {"of_lists", "of_judgments"}),
        pytest.param(4, range(1, 8), ("--convention", "trec_eval"), {*PARTS}, marks=pytest.mark.slow),
        pytest.param(4, range(1, 8), ("--set", "ideal=judged_capped"), {*PARTS}, marks=pytest.mark.slow),
        pytest.param(4, range(1, 8), ("--set", "missing_query=skip"), {*PARTS}, marks=pytest.mark.slow),
    ],
)
def test_the_parts_of_two_nights_sum_to_the_change_of_the_means(tmp_path, lists, queries, more, moved):
    """And what lists score under the judgments of the other night is what evaluating them there gives."""
    old, new, run = judged(1, range(6)), judged(2, queries), returned(lists, range(1, 9))
    nights(tmp_path, (old, returned(3, range(1, 9))), (new, run), (old, run), more=more)
    before, after, between = means(tmp_path)
    found = {row["cutoff"]: row for row in compared(tmp_path)["change_parts"]}
    assert set(found) == {3, 5}
    for cutoff, row in found.items():
        assert row["change"] == pytest.approx(after[cutoff] - before[cutoff], abs=1e-12)
        assert sum(row[name] for name in PARTS) == pytest.approx(row["change"], abs=1e-12)
        assert {name for name in PARTS if abs(row[name]) > 1e-12} == moved
        if queries == range(6):
            assert row["of_lists"] == pytest.approx(between[cutoff] - before[cutoff], abs=1e-12)


#: A third document is judged in place of the second, and the list is the same.
OLD, NEW, LIST = "q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n", "q1 0 a 0\nq1 0 c 1\nq2 0 a 1\n", "q1 Q0 a 1 3 r\nq1 Q0 c 2 2 r\n"


def test_what_is_of_other_judgments_is_said_in_words(tmp_path):
    nights(tmp_path, (OLD, LIST), (NEW, LIST))
    # Of two queries the second is missing.
    change = (DISCOUNTS[1] - 1 / (1 + DISCOUNTS[1])) / 2
    since = ("compare", "out", "--baseline-date", "2026-11-01", "--measures", "ndcg@3", "--engine", "embedded")
    printed = command_line(*since, cwd=tmp_path).stdout
    assert f"r ndcg@3: of {change:+.4f}, {change:+.4f} are other judgments" in printed
    assert "default: judgments since 2026-11-01: 1 added, 1 removed, 1 with another grade" in printed
    assert "r ndcg@5" not in printed
    left_out = compared(tmp_path, "--unchanged-queries")
    assert left_out["change_parts"] == compared(tmp_path, "--baseline", "r")["change_parts"] == []


@pytest.mark.parametrize(
    ("documents", "more"), [("top", ()), ("lists", ("--set", "ties=average")), ("lists", ("--set", "ideal=retrieved"))]
)
def test_nights_that_do_not_keep_enough_have_no_parts(tmp_path, documents, more):
    nights(tmp_path, (OLD, LIST), (NEW, LIST), documents=documents, more=more)
    found = compared(tmp_path)
    assert (found["change_parts"], len(found["warnings"])) == ([], 2)


def test_lists_that_are_cut_say_nothing_of_the_whole_ranking(tmp_path):
    lists = returned(1, range(6))
    nights(tmp_path, (judged(1, range(6)), lists), (judged(2, range(6)), lists), more=("--cutoffs", "3,all"))
    found = compared(tmp_path)
    assert [row["cutoff"] for row in found["change_parts"]] == [3]
    assert "do not give 1 of 2 scores, e.g. r@all, so the effect of" in found["warnings"][-1]
