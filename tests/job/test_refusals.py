"""What a plan refuses while it runs, and inputs that change under it: whose failure it is, and nothing is published."""

import functools

import pytest
from evaluations import QRELS, RUN, evaluated

from ndcg_spark.errors import ConventionError, DuplicatesError, InputError
from ndcg_spark.inputs.read import refuse_changed
from ndcg_spark.job.inputs import sources_of
from ndcg_spark.nights.log import committed

#: Infinite at rank 1.
INFINITE = "python:numpy.arctanh"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_discount_that_is_infinite_is_the_conventions_failure_and_says_so(configured):
    with pytest.raises(
        ConventionError, match=r"a DCG that is not a finite number, e\.g\. .*; correct the gains or the"
    ):
        evaluated(configured(convention={"discount": INFINITE}))


def test_a_query_without_results_that_is_refused_is_counted_with_its_kind(run, configured):
    with pytest.raises(InputError, match=r"a judged query without results, 1 of them, e\.g\. run=bm25 query_id=q2"):
        run(configured(convention={"missing_query": "error"}))


def test_a_document_returned_twice_is_refused_with_the_option_that_merges_it(run, configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + RUN.splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(DuplicatesError, match=r"1 document\(s\) returned twice .*run=bm25 query_id=q1 doc_id=a; "):
        run(configured())


@pytest.mark.parametrize("ideal", ["judged", "retrieved"])
def test_a_query_without_relevant_documents_and_without_results_is_counted_too(configured, tmp_path, ideal):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 0\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"a query without a relevant document, 1 of them, e\.g\. run=bm25 query_id=q2"
    ):
        evaluated(configured(convention={"no_relevant": "error", "ideal": ideal}))


def changed(path, change, step):
    """What somebody does to a file when the input has been read."""
    if step == "read":
        text = QRELS if path.name == "qrels.txt" else RUN
        path.unlink(missing_ok=True)
        if change != "removed":
            text = text.replace(" a ", " z ") if change == "replaced" else text.splitlines()[0] + "\n"
            path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("file", ["qrels.txt", "run.txt"])
@pytest.mark.parametrize("change", ["replaced", "shortened", "removed"])
def test_a_file_that_changes_after_it_was_checked_is_refused_and_nothing_is_published(
    configured, tmp_path, file, change
):
    with pytest.raises(InputError, match=rf"{file}"):
        evaluated(configured(output=str(tmp_path / "out")), functools.partial(changed, tmp_path / file, change))
    assert committed(str(tmp_path / "out")) == []
    assert {path.parts[-3] for path in (tmp_path / "out").rglob("*.parquet")} == {"evaluations"}


@pytest.mark.classic
def test_so_is_one_that_classic_spark_no_longer_finds(run, configured, tmp_path):
    with pytest.raises(InputError, match=r"run\.txt"):
        run(configured(output=str(tmp_path / "out")), functools.partial(changed, tmp_path / "run.txt", "removed"))
    assert committed(str(tmp_path / "out")) == []
    assert {path.parts[-3] for path in (tmp_path / "out").rglob("*.parquet")} == {"evaluations"}


def test_a_file_that_goes_before_it_was_looked_at_is_refused(configured, tmp_path, engine):
    sources = sources_of(engine, configured())
    (tmp_path / "run.txt").unlink()
    with pytest.raises(InputError, match=r"results: 1 file\(s\) changed during the evaluation, e\.g\. .*run\.txt"):
        refuse_changed(sources)
