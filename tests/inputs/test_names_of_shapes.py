"""What files call their runs, and what fields lines without a header have."""

import pytest
from input_files import file

from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import trec_layouts
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.recognise import of_text
from ndcg_spark.inputs.run_names import named_by_file
from ndcg_spark.inputs.shapes import TableContext
from ndcg_spark.schemas import JUDGMENTS, RESULTS


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/r/bm25.run.gz", "bm25"),
        ("/r/bm25.v2", "bm25.v2"),
        ("/r/input.bm25.txt", "input.bm25"),
        ("/r/.run", ".run"),
        ("s3://b/r/dense.parquet", "dense"),
        ("/r/dense.parquet/part-00000-0a1b2c3d-0000-0000-0000-0a1b2c3d4e5f-c000.snappy.parquet", "dense"),
        ("/r/dense/day=1/part.0.parquet", "dense"),
        ("/r/run=a%2Fb/part-00000.parquet", "a/b"),
    ],
)
def test_a_run_is_called_what_its_file_is_without_what_tells_the_format(path, name):
    (named,) = named_by_file([File(path, 1)], "run", "results")
    assert named.partition == (("run", name),)


def test_part_files_are_one_run_and_two_files_of_one_name_are_refused():
    parts = [File(f"/r/dense/day={at}/part-0000{at}-{at}.csv", 1) for at in range(2)]
    assert [file.partition for file in named_by_file(parts, "run", "results")] == [(("run", "dense"),)] * 2
    others = [File(f"/r/{name}_{at}.csv", 1) for name in ("data", "crossencoderbase") for at in range(2)]
    assert len({file.partition for file in named_by_file(others, "run", "results")}) == 4
    with pytest.raises(InputError, match=r"two files give the run bm25, /a/bm25\.run and /b/bm25\.run\.gz; rename"):
        named_by_file([File("/a/bm25.run", 1), File("/b/bm25.run.gz", 1)], "run", "results")


def test_a_file_s_name_counts_before_that_of_its_folder():
    (named,) = named_by_file([File("/r/run=x/day=1/bm25.csv", 1, (("run", "x"), ("day", "1")))], "run", "results")
    assert named.partition == (("day", "1"), ("run", "bm25"))


@pytest.mark.parametrize(
    ("table", "lines", "words"),
    [
        ("judgments", ["1 0 a 2"], "query 0 document grade"),
        ("judgments", ["1 31 4 881250949"], "query document grade time"),
        ("judgments", ["1 a 2", "1 b -1"], "query document grade"),
        ("judgments", ["1 a b"], None),
        ("judgments", ["1 a"], None),
        ("results", ["1 Q0 a 0 2.5 x and more"], "query Q0 document rank score run"),
        ("results", ["1 a 1", "1 b 2", "2 a 1"], "query document rank"),
        ("results", ["1 a 9.5", "1 b 7"], "query document score"),
        ("results", ["1 a 2", "1 b 1"], None),
        ("results", ["1 a 0", "1 b 1"], None),
        ("results", ["1 a 1", "1 b 2", "1 c 0"], None),
        ("results", ["1 a 1", "1 b 2", "1 c -1"], None),
        ("results", ["1 a 1.0", "1 b 2.0"], None),
        ("results", ["1 a 1e0", "1 b 2e0"], None),
        ("results", ["1 a -7.0", "1 b -9.25"], "query document score"),
        ("results", ["1 a 1 9.5", "1 b 2 -7"], "query document rank score"),
        ("results", ["1 0 a 2"], None),
        ("results", ["1 a 1", "1 b 2 3"], None),
        ("results", [], None),
    ],
)
def test_a_layout_is_recognised_where_nothing_else_is_possible(table, lines, words):
    layout = trec_layouts.layout_of(lines, table, graded=table == "judgments")
    assert (layout and layout.words) == words


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ('{"q": {"d": 1}}', 2),
        ('{"r": {"q": {"d": 1', 3),
        ('{"q": {}, "p": {"{[": "', 2),
        ('{"q": {}}', 2),
        ('{"q": {"d": [', 2),
    ],
)
def test_the_depth_of_json_is_that_of_its_first_value(tmp_path, text, depth):
    context = TableContext("results", "r.run", ResultsConfig(path=["r.run"]), RESULTS.names)
    found = of_text([file(tmp_path / "r.run", text)], "trec", context)
    assert (found.kind, found.depth) == ("json", depth)


RANKS, SCORES = (
    next(layout for layout in trec_layouts.LAYOUTS["results"] if layout.words == f"query document {last}")
    for last in ("rank", "score")
)


@pytest.mark.parametrize(
    ("layout", "lines", "words"),
    [
        (RANKS, ["1 a 0.5", "1 b 2"], "has lines of query document score, and other files have query document rank"),
        (SCORES, ["1 a 1", "1 b 2"], "has lines of query document rank, and other files have query document score"),
        (RANKS, ["1 a 5", "1 b 4"], "which may end with a rank or a score; say which"),
        (SCORES, ["1 a 0", "1 b 1"], "as ranks they must begin at 1, and 0 is among them"),
    ],
)
def test_a_file_that_shows_another_layout_than_the_first_is_refused(layout, lines, words):
    assert words in str(trec_layouts.contradiction(lines, layout, "results", "results: b.txt"))


@pytest.mark.parametrize(
    ("layout", "lines"),
    [
        # The second part of a list that a parallel write has cut.
        (RANKS, ["1 a 37", "1 b 38", "2 a 1"]),
        (RANKS, ["1 a 1", "no row", "1 b best"]),
        (SCORES, ["1 a 0.5", "1 b 1"]),
        (SCORES, []),
    ],
)
def test_a_file_that_shows_the_same_layout_or_bad_lines_is_read(layout, lines):
    assert trec_layouts.contradiction(lines, layout, "results", "results: b.txt") is None


def test_judgments_with_times_are_not_read_beside_those_of_trec(tmp_path):
    files = [file(tmp_path / "a", "1 0 31 4\n"), file(tmp_path / "b", "1 31 4 881250949\n")]
    context = TableContext("judgments", "a", JudgmentsConfig(path=["a"]), JUDGMENTS.names)
    with pytest.raises(InputError, match="b has lines of query document grade time, and other files have query 0 doc"):
        of_text(files, "trec", context)
