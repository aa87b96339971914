"""Quotes in CSV and TSV mean the same to every reader: ids stay apart, and no row vanishes."""

import csv
import io
import random

import pytest
from input_files import file, judged, returned, rows, written
from sessions import many

from ndcg_spark.config import AttributesConfig, ExcludeConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.delimited import Delimited
from ndcg_spark.inputs.query_tables import read_query_table
from ndcg_spark.inputs.quotes import Quotes
from ndcg_spark.inputs.source_tables import read_excluded
from ndcg_spark.report.labels import read_labels
from ndcg_spark.schemas import LINE

pytestmark = pytest.mark.embedded
CSV, TSV = "query_id,doc_id,relevance", "query_id\tdoc_id\trelevance"


def read(engine, folder, name, *lines, end="\n"):
    """The queries of judgments, and the lines that are no rows."""
    path = written(folder / name, end.join([*lines, ""]))
    table = judged(engine, path).table
    found = [(row["query_id"], LINE in row and row[LINE]) for row in table.collect()]
    broken = sorted(line for _, line in found if line)
    return sorted(query for query, line in found if not line), broken


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ('"apple pie",a,3', "apple pie"),
        ('"apple, pie",a,3', "apple, pie"),
        ('"""apple"" pie",a,3', '"apple" pie'),
        ('5" screen,a,3', '5" screen'),
        ('"apple" pie,a,3', None),
        ('"apple"" pie,a,3', None),
        ('"say \\"hi\\"",a,3', None),
        ('"apple" ,a,3', None),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_field_of_csv_follows_rfc_4180_or_breaks_its_line(engine, tmp_path, name, line, query):
    good, broken = read(engine, tmp_path, name, CSV, "q0,x,1", line, "q9,y,1", end="\r\n")
    assert good == sorted(["q0", "q9"] + [query] * (query is not None))
    assert broken == [line] * (query is None)


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ('"apple" pie\ta\t3', '"apple" pie'),
        ('"apple pie"\ta\t3', '"apple pie"'),
        ('"apple pie\ta\t3', '"apple pie'),
        ('"""apple"" pie"\ta\t3', '"apple" pie'),
        ('"apple\tpie"\ta\t3', "apple\tpie"),
        ('"a" "b"\ta\t3', '"a" "b"'),
        ('"apple\tpie\ta\t3', None),
    ],
)
def test_a_quote_of_tsv_belongs_to_the_value_unless_it_is_needed(engine, tmp_path, line, query):
    good, broken = read(engine, tmp_path, "a.tsv", TSV, "apple pie\tx\t1", line, "q9\ty\t1")
    assert good == sorted(["apple pie", "q9"] + [query] * (query is not None))
    assert broken == [line] * (query is None)


@pytest.mark.parametrize("header", [TSV, TSV.replace("query_id", '"query_id"')])
def test_a_tool_that_puts_all_fields_of_tsv_in_quotes_is_understood(engine, tmp_path, header):
    grade = "1" if '"' in header else '"1"'
    lines = [f'"q{at}"\t"d"\t{grade}' for at in range(3)]
    assert read(engine, tmp_path, "a.tsv", header, *lines) == (["q0", "q1", "q2"], [])


def test_different_ids_of_tsv_stay_different_in_results(engine, tmp_path):
    text = 'run\tquery_id\tdoc_id\tscore\n"A" model\tq\ta\t1\nA model\tq\tb\t2\n'
    found = rows(returned(engine, written(tmp_path / "r.tsv", text)), "run", "doc_id")
    assert found == [('"A" model', "a"), ("A model", "b")]


def test_fields_that_are_numbered_have_the_same_quotes(engine, tmp_path):
    columns = {"query_id": "1", "doc_id": "2", "score": "3"}
    text = '"apple, pie",a,1\n"apple" pie,b,2\n"x\ny",c,3\n'
    source = returned(engine, written(tmp_path / "r.csv", text), columns=columns)
    found = rows(source, "query_id", LINE)
    broken = [(None, line) for line in ('"apple" pie,b,2', '"x', 'y",c,3')]
    assert found == [("apple, pie", None), *broken]


# ---- several lines

NOTED = "query_id,doc_id,relevance,note"


def test_a_row_that_is_cut_off_within_a_field_takes_in_no_other(engine, tmp_path):
    lines = ['q1,a,3,"no', "q2,b,1,x,y", 'q3,c,1,17",z']
    found = read(engine, tmp_path, "a.csv", f"{NOTED},by", *lines)
    assert found == (["q2", "q3"], lines[:1])


@pytest.mark.parametrize(
    ("lines", "good", "broken"),
    [
        (['q1,a,3,"good, but', "", 'old ""2019"" model"', "q2,b,1,x"], ["q1", "q2"], []),
        (['q1,a,3,"one', 'two"', 'q2,b,1,"three', 'four"'], ["q1", "q2"], []),
        # A quote that does not end takes in no other row.
        (['q1,a,3," screen', "q2,b,1,x", "q3,c,1,y"], ["q2", "q3"], ['q1,a,3," screen']),
        (['q1,a,3," screen', "q2,b,1,x", 'q3,c,1,17"'], ["q2", "q3"], ['q1,a,3," screen']),
        (['"q1,a,3,x', "q2,b,1,x", 'q3",c,1,y'], ["q2", 'q3"'], ['"q1,a,3,x']),
        (['q1,a,3,"one', 'two" three', "q2,b,1,x"], ["q2"], ['q1,a,3,"one', 'two" three']),
        # Ids and numbers are in one line.
        (['"q', '1",a,3,x', "q2,b,1,x"], ["q2"], ['"q', '1",a,3,x']),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_field_may_go_over_several_lines(engine, tmp_path, lines, good, broken, end):
    assert read(engine, tmp_path, "a.csv", NOTED, *lines, end=end) == (good, sorted(broken))


def test_a_bad_number_in_a_row_of_several_lines_has_the_first_line(engine, tmp_path):
    lines = ['q1,a,high,"one', 'two"']
    assert read(engine, tmp_path, "a.csv", NOTED, *lines) == ([], lines[:1])


def test_a_header_may_go_over_several_lines(engine, tmp_path):
    header = ['query_id,doc_id,"relevance', '(0 to 3)",note']
    path = written(tmp_path / "a.csv", "\n".join([*header, "q1,a,3,x", "q2,b,1,x"]))
    source = judged(engine, path, columns={"relevance": "relevance\n(0 to 3)"})
    assert rows(source, "query_id", "relevance") == [("q1", 3.0), ("q2", 1.0)]


def test_tsv_has_fields_of_several_lines_too(engine, tmp_path):
    lines = ['q1\ta\t3\t"one', 'two"', 'q2\tb\t3\t"open', "q3\tc\t1\tx"]
    assert read(engine, tmp_path, "a.tsv", f"{TSV}\tnote", *lines) == (["q1", "q2", "q3"], [])


#: What random notes are made of.
PIECES = ("a", " ", ",", "\t", '"', "\n", "é", "1", "\n\n", '""')


def random_table(rng, separator, quoting):
    lines = io.StringIO(newline="")
    end = rng.choice(["\n", "\r\n"])
    writer = csv.writer(lines, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(["doc_id", "note", "query_id", "relevance"])
    for at in range(60):
        note = "".join(rng.choices(PIECES, k=rng.randrange(9)))
        writer.writerow([f"d{at}", note, f'q "{at}', at])
    return lines.getvalue()


@pytest.mark.parametrize("seed", range(many(9, 9, 200)))
def test_what_pythons_writer_of_csv_writes_is_found_in_blocks_of_any_size(tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311  # it makes test data
    separator = rng.choice(",;\t")
    text = random_table(rng, separator, rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    stored = file(tmp_path / "a", text.encode())
    columns = {"query_id": "q", "doc_id": "d", "relevance": "r"}
    is_literal = separator == "\t" and '"doc_id"' not in text
    how = Delimited(["d", "n", "q", "r"], columns, separator, 1, is_literal)
    for size in (1, 7, 64, 1000, 1 << 20):
        found = []
        for part in map(how.read, how.parts(stored, size)):
            assert not part.broken
            names = "doc_id", "query_id", "relevance"
            found += zip(*(part.columns[name].to_pylist() for name in names), strict=True)
        assert found == [(f"d{at}", f'q "{at}', float(at)) for at in range(60)]


def test_a_quote_that_never_ends_costs_no_more_than_its_line():
    lines = ['q0,d,1,"open', *(f"q{at},d,1,some text" for at in range(1, 150_000))]
    blocks = ["\n".join([*lines[at : at + 50_000], ""]).encode() for at in (0, 50_000, 100_000)]
    parts = list(Quotes(",", 4, frozenset({0, 1}), frozenset({2})).rows(blocks))
    assert [line for part in parts for line in part.broken] == lines[:1]
    assert sum(part.block.count(b"some text") for part in parts) == len(lines) - 1
    # Not all of the text is kept until its end.
    assert parts[1].block


# ---- tables about queries


def query_table(folder, name, text):
    path = written(folder / name, text)
    return read_query_table(AttributesConfig(path=[str(path)]), "query_attributes")


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz"])
def test_slices_have_the_quotes_of_judgments(tmp_path, name):
    table = query_table(tmp_path, name, '\ufeffquery_id,kind\r\n"""apple"" pie",x\r\n"a, b",y\r\n')
    assert table.to_pydict() == {"query_id": ['"apple" pie', "a, b"], "kind": ["x", "y"]}
    text = 'query_id\tkind\n"apple" pie\tx\napple pie\ty\n'
    table = query_table(tmp_path, name.replace("csv", "tsv"), text)
    assert table.to_pydict() == {"query_id": ['"apple" pie', "apple pie"], "kind": ["x", "y"]}


@pytest.mark.parametrize("line", ['"apple" pie,x', '"apple,x', '"apple,x\nb,y\nc",z', 'q,"x\nr,y"'])
def test_slices_with_malformed_quotes_are_refused_with_the_line(tmp_path, line):
    with pytest.raises(InputError) as refused:
        query_table(tmp_path, "s.csv", f"query_id,kind\nq0,z\n{line}\n")
    assert repr(line.partition("\n")[0]) in str(refused.value)


def test_excluded_documents_have_the_quotes_of_results(engine, tmp_path):
    path = written(tmp_path / "e.tsv", 'query_id\tdoc_id\n"apple" pie\ta\n')
    source = read_excluded(engine, ExcludeConfig(path=[str(path)]))
    assert rows(source, "query_id") == [('"apple" pie',)]


def test_labels_may_have_several_lines(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b'query_id,text\nq1,"Main St, 5\nSpringfield, US"\n')
    assert read_labels(path).queries == {"q1": "Main St, 5\nSpringfield, US"}
