"""Text whose fields blanks do not part, as public files have it: what is said leads to the numbers."""

import pytest
from evaluations import evaluated
from input_files import judged, returned, written
from tables import assert_table
from tool_files import JUDGED, MEAN, QRELS, RANKED, SCORES, lines

from ndcg_spark import config
from ndcg_spark.errors import InputError
from ndcg_spark.voices import OPTIONS

TEXTS = {"1": "hard drive", "2": "ipod"}
#: MS MARCO's top1000.dev: query, document, and their texts.
CANDIDATES = lines("\t", [(query, doc, "what is it", "It is.") for query, doc, *_ in RANKED])
LISTS = [(query, ",".join(scores)) for query, scores in SCORES.items()]


def number(judgments, results, **more):
    settings = {
        "judgments": {"path": str(judgments)},
        "results": {"path": str(results), **more.pop("rows", {})},
        "cutoffs": [2],
        **more,
    }
    (row,) = evaluated(config.validate(settings, "test"))[0].dataset_scores
    return row["ndcg"]


def refusal(read, *given, **more):
    with pytest.raises(InputError) as refused:
        read(*given, **more)
    return refused.value.worded(OPTIONS)


@pytest.mark.parametrize("separator", ["|", "::"])
@pytest.mark.parametrize("suffix", ["txt", "dat", "tsv.gz"])
def test_a_separator_that_is_not_read_is_named(engine, tmp_path, separator, suffix):
    rows = [(TEXTS[query], doc, grade, "CLICK_LOGS") for query, doc, grade in JUDGED]
    path = written(tmp_path / f"a.{suffix}", lines(separator, rows))
    assert f"are separated by {separator}" in refusal(judged, engine, path)


@pytest.mark.parametrize("separator", ["|", "::"])
def test_a_header_with_such_a_separator_is_refused(engine, tmp_path, separator):
    text = lines(separator, JUDGED, "query", "docid", "rating")
    message = refusal(judged, engine, written(tmp_path / "a.csv", text))
    assert f"has {separator} between its names" in message


@pytest.mark.parametrize("doc_id", ["gi|{}|ref", "a::{}::b"])
@pytest.mark.parametrize("broken", ["", "gi|1|ref\n"])
def test_ids_may_have_such_a_separator(engine, tmp_path, doc_id, broken):
    rows = [(query, 0, doc_id.format(doc), grade) for query, doc, grade in JUDGED * 4]
    path = written(tmp_path / "a.qrels", lines(" ", rows) + broken)
    source = judged(engine, path)
    assert source.table.count() == len(rows) + bool(broken)


@pytest.mark.parametrize("name", ["top1000.dev", "top1000.dev.tsv", "top1000.dev.tsv.gz"])
@pytest.mark.parametrize("columns", [{}, {"query_id": "1", "doc_id": "2"}])
def test_texts_between_tabs_lead_to_the_numbers_of_fields(engine, tmp_path, name, columns):
    path = written(tmp_path / name, CANDIDATES)
    message = refusal(returned, engine, path, columns=columns)
    is_named = ".tsv" in name
    assert ("separated by tabs and contain blanks" in message) == (not columns or not is_named)
    assert ("end its name in .tsv" in message) != is_named


def test_with_these_numbers_they_have_the_number_of_the_definition(tmp_path):
    results = written(tmp_path / "top1000.dev.tsv", CANDIDATES)
    qrels = written(tmp_path / "qrels.txt", QRELS)
    columns = {"columns": {"query_id": "1", "doc_id": "2"}}
    assert number(qrels, results, rows=columns, convention={"order": "file"}) == MEAN


@pytest.mark.parametrize("second", ["shoes", "hats"])
def test_queries_of_two_words_are_not_one_of_the_first_word(engine, tmp_path, second):
    rows = [(f"red {word}", doc, grade) for word in ("shoes", second) for _, doc, grade in JUDGED]
    path = written(tmp_path / "a.txt", lines("\t", rows))
    if second == "shoes":
        # As trec_eval has it: the second field may be any word.
        assert judged(engine, path).table.count() == len(rows)
    else:
        assert "end its name in .tsv" in refusal(judged, engine, path)


def test_tabs_and_blanks_may_both_part_the_fields(engine, tmp_path):
    rows = [(f"{query} 0", doc, grade) for query, doc, grade in JUDGED]
    source = judged(engine, written(tmp_path / "a.txt", lines("\t", rows)))
    expected = [(query, doc) for query, doc, _ in JUDGED]
    assert_table(source.table, "query_id string, doc_id string", *expected)


@pytest.mark.parametrize(
    ("extra", "numbers"),
    [("query 0 doc grade 1", (1, 3, 4)), ("query doc grade 1 0.23", (1, 2, 3))],
)
def test_judgments_of_five_fields_are_told_the_number_of_the_grade(
    engine, tmp_path, extra, numbers
):
    rows = [
        [{"query": query, "doc": doc, "grade": grade}.get(name, name) for name in extra.split()]
        for query, doc, grade in JUDGED
    ]
    message = refusal(judged, engine, written(tmp_path / "prels", lines(" ", rows)))
    for name, at in zip(("query_id", "doc_id", "relevance"), numbers, strict=True):
        assert f"{name}={at}" in message


def test_several_ids_beside_a_query_need_no_names(tmp_path):
    results = written(tmp_path / "sub.txt", lines("\t", LISTS))
    qrels = written(tmp_path / "qrels.txt", QRELS)
    assert number(qrels, results, rows={"split_ids": "comma"}) == MEAN


@pytest.mark.parametrize(
    ("form", "advice"), [("{}", "split-ids results=comma"), ("[{}]", "write it as JSON lines")]
)
def test_a_list_beside_a_query_is_recognised(engine, tmp_path, form, advice):
    rows = [(query, form.format(ids)) for query, ids in LISTS]
    assert advice in refusal(returned, engine, written(tmp_path / "sub.txt", lines("\t", rows)))


def test_a_rankers_judgments_may_have_no_features(engine, tmp_path):
    rows = [(grade, f"qid:{query} #", doc, "Rocky & Bullwinkle") for query, doc, grade in JUDGED]
    text = "# grade (0-4)\tqueryid\tdocId\ttitle\n#\n" + lines("\t", rows)
    message = refusal(judged, engine, written(tmp_path / "sample_judgments.txt", text))
    assert "a ranker's features" in message


def test_objects_without_our_names_are_lines_all_the_same(engine, tmp_path):
    line = '{"id": "1", "output": {"provenance": [{"wikipedia_id": "12"}]}}\n'
    message = refusal(returned, engine, written(tmp_path / "pred.jsonl", line * 2))
    assert "not JSON lines with columns of results" in message


def test_lines_of_plain_values_name_the_columns_that_they_lack(engine, tmp_path):
    line = '{"term": "q1", "article": "d1", "stars": 2}\n'
    message = refusal(judged, engine, written(tmp_path / "labels.jsonl", line * 2))
    assert (
        "3 column(s) missing, query_id, doc_id, relevance; it has term, article, stars" in message
    )
