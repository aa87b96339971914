"""Tables of a catalog that change after the check: nothing is published of rows that no rule saw."""

import pyarrow as pa
import pytest
from evaluations import evaluated
from logged import logged_steps
from pyarrow import parquet

from ndcg_spark import config
from ndcg_spark.errors import InputError
from ndcg_spark.job.compare_inputs import compare_judgments, compare_lists

STORED = {
    "judgments": {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1.0, 0.0]},
    "results": {"run": ["r"] * 2, "query_id": ["q"] * 2, "doc_id": ["a", "b"], "score": [1.0, 0.5]},
    "exclude": {"query_id": ["q"], "doc_id": ["x"]},
}
#: By table, the rows that come later.
LATER = {
    "judgments": {"query_id": ["q"], "doc_id": ["c"], "relevance": [1.0]},
    "results": {"run": ["r"], "query_id": ["q"], "doc_id": ["c"], "score": [2.0]},
    "exclude": {"query_id": ["q"], "doc_id": ["b"]},
}

pytestmark = pytest.mark.embedded


@pytest.fixture
def settings(session, tmp_path):
    """An evaluation of views of the engine, which have the rows of all files in a folder."""
    given = {"cutoffs": [1], "date": "2026-11-20"}
    for name, rows in STORED.items():
        add(tmp_path, name, rows)
        session.read.parquet(f"{tmp_path}/{name}").createOrReplaceTempView(f"changing_{name}")
        given[name] = {"path": f"table:changing_{name}"}
    return given


def add(folder, name, rows):
    path = folder / name
    path.mkdir(exist_ok=True)
    parquet.write_table(pa.table(rows), path / f"{len(list(path.iterdir()))}.parquet")


def once(folder, name):
    """What adds the later rows of a table after the first step `read`, which comes when all is checked."""

    def change(step):
        if step == "read" and name and len(list((folder / name).iterdir())) == 1:
            add(folder, name, LATER[name])

    return change


@pytest.mark.parametrize("output", [True, False])
@pytest.mark.parametrize("name", [None, *STORED])
def test_a_table_that_changes_after_the_check_is_refused(settings, tmp_path, name, output):
    published = tmp_path / "scores"
    given = config.validate(settings | ({"output": str(published)} if output else {}), "test")
    if name is None:
        evaluated(given, once(tmp_path, name))
        return
    with pytest.raises(
        InputError, match=f"^{name}: the rows of .*{name} changed during the evaluation"
    ):
        evaluated(given, once(tmp_path, name))
    assert not list(published.glob("query_scores/*/*")) if output else True


def test_a_table_that_changes_while_documents_are_kept_is_refused(settings, tmp_path):
    given = config.validate(
        {**settings, "output": str(tmp_path / "scores"), "documents": "all"}, "test"
    )
    with pytest.raises(InputError, match=r"^results: the rows of"):
        evaluated(given, once(tmp_path, "results"))


@pytest.mark.parametrize("compare", ["lists", "judgments"])
def test_tables_that_are_compared_and_change_are_refused(engine, settings, tmp_path, compare):
    given = config.validate(settings, "test")
    name = "results" if compare == "lists" else "judgments"
    run = {
        "lists": lambda: compare_lists(engine, given, given, None, 0.9),
        "judgments": lambda: compare_judgments(engine, given, given),
    }[compare]
    with (
        logged_steps(once(tmp_path, name)),
        pytest.raises(InputError, match=f"^{name}: the rows of"),
    ):
        run()
