"""Text with names that the user maps, comments, header blocks or fields of several lines: which lines are rows."""

import os
import re
import threading

import pytest
from input_files import file, gzipped, judged, returned, rows, written
from sessions import paired
from tables import assert_table
from tool_files import JUDGED, QRELS, RUN, SCORED, lines

from ndcg_spark.config import AttributesConfig, ExcludeConfig, WeightsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.comments import first_lines
from ndcg_spark.inputs.delimited import Delimited
from ndcg_spark.inputs.query_tables import attribute_rows, read_query_table, weight_rows
from ndcg_spark.inputs.source_tables import read_excluded
from ndcg_spark.schemas import LINE
from ndcg_spark.voices import OPTIONS

pytestmark = pytest.mark.embedded

# ---- names that the user maps

HEADER = ("frage", "seite", "note")
MAPPED = {"query_id": "frage", "doc_id": "seite", "relevance": "note"}
ENDINGS = ["tsv", "csv", "txt", "tsv.gz", "run.gz"]
SEPARATORS = ["\t", ",", ";", " ", " \t "]


@pytest.mark.parametrize(
    ("name", "separator"), paired([*(f"a.{ending}" for ending in ENDINGS), "a"], SEPARATORS)
)
def test_a_first_line_with_a_mapped_name_is_the_header(engine, tmp_path, name, separator):
    path = written(tmp_path / name, lines(separator, JUDGED, *HEADER))
    assert rows(judged(engine, path, columns=MAPPED)) == JUDGED
    # One of the names is enough, where the others are known.
    for one, known in {"query_id": "qid", "doc_id": "docno", "relevance": "grade"}.items():
        rest = {ours: theirs for ours, theirs in MAPPED.items() if ours != one}
        names = [known if name == MAPPED[one] else name for name in HEADER]
        again = judged(
            engine, written(tmp_path / name, lines(separator, JUDGED, *names)), columns=rest
        )
        assert rows(again, "query_id", "doc_id", "relevance") == JUDGED


@pytest.mark.parametrize("separator", SEPARATORS)
def test_results_excluded_documents_and_tables_of_queries_have_such_headers_too(
    engine, tmp_path, separator
):
    path = written(tmp_path / "r.txt", lines(separator, SCORED, "frage", "seite", "punkte"))
    columns = {"query_id": "frage", "doc_id": "seite", "score": "punkte"}
    assert rows(returned(engine, path, columns=columns), "query_id", "doc_id", "score") == sorted(
        SCORED, key=repr
    )
    path = written(tmp_path / "e.dat", lines(separator, [("1", "10")], "frage", "seite"))
    excluded = ExcludeConfig(path=[str(path)], columns={"query_id": "frage", "doc_id": "seite"})
    assert rows(read_excluded(engine, excluded)) == [("1", "10")]
    path = written(tmp_path / "s.txt.gz", lines(separator, [("1", "web")], "frage", "art"))
    slices = AttributesConfig(path=[str(path)], columns={"query_id": "frage"})
    found = attribute_rows(read_query_table(slices, "query_attributes")).to_pylist()
    assert found == [{"query_id": "1", "attribute": "art", "value": "web"}]
    path = written(tmp_path / "w", lines(separator, [("1", "0.5")], "frage", "anteil"))
    weights = WeightsConfig(path=[str(path)], columns={"query_id": "frage", "weight": "anteil"})
    found = weight_rows(read_query_table(weights, "query_weights")).to_pylist()
    assert found == [{"query_id": "1", "weight": 0.5}]


@pytest.mark.parametrize("separator", [";", " "])
def test_a_pipe_has_the_header_of_mapped_names_too(engine, tmp_path, separator):
    os.mkfifo(tmp_path / "pipe")
    text = lines(separator, JUDGED, *HEADER)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text, encoding="utf-8"))
    writer.start()
    source = judged(engine, tmp_path / "pipe", columns=MAPPED)
    writer.join()
    assert rows(source) == JUDGED


@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_a_format_that_is_given_has_the_header_of_mapped_names_too(engine, tmp_path, kind):
    text = lines({"tsv": "\t", "csv": ","}[kind], JUDGED, *HEADER)
    source = judged(engine, written(tmp_path / "a", text), columns=MAPPED, format=kind)
    assert rows(source) == JUDGED


def test_a_folder_may_have_the_name_that_is_mapped(engine, tmp_path):
    written(tmp_path / "system=bm25" / "a.run", RUN)
    source = returned(engine, tmp_path, columns={"run": "system"}, run_from="column")
    assert_table(source.table.select("run").distinct(), "run string", ("bm25",))


@pytest.mark.parametrize("separator", ["\t", " "])
@pytest.mark.parametrize("above", ["# a\n", "\n# a\n<RUN>b\nc</RUN>\n"])
def test_comments_and_blocks_may_stand_above_names_with_blanks(engine, tmp_path, separator, above):
    written(tmp_path / "1.txt", above + lines(separator, JUDGED, *HEADER))
    written(tmp_path / "2.txt", lines(separator, [("3", "10", 1)], *HEADER))
    written(tmp_path / "3.txt", "# empty\n")
    source = judged(engine, tmp_path, columns=MAPPED)
    assert rows(source) == [*JUDGED, ("3", "10", 1)]
    assert any(note.startswith("2 comment lines") for note in source.notes)


def test_names_again_within_text_with_blanks_are_no_row(engine, tmp_path):
    text = lines(" ", [("1", "10"), ("frage", "seite"), ("2", "13")], "frage", "seite")
    excluded = ExcludeConfig(
        path=[str(written(tmp_path / "e.txt", text))],
        columns={"query_id": "frage", "doc_id": "seite"},
    )
    found = rows(read_excluded(engine, excluded), "query_id", LINE)
    assert found == [("1", None), ("2", None), (None, "frage seite")]


@pytest.mark.parametrize(
    ("name", "header", "columns", "words"),
    [
        ("a.tsv", "u\ti\tg", {"query_id": "frage"}, r"no column 'frage' for query_id in the first"),
        ("a.txt", "u i g", {"doc_id": "seite"}, r"first line 'u i g'; correct the name;.*doc_id=2"),
        ("a.txt", "frage i g", {"query_id": "frage", "doc_id": "seite"}, "no column 'seite' for"),
        (
            "a.csv",
            "u,i,g",
            {"query_id": "frage"},
            "no column 'frage' for query_id; it has u, i, g;",
        ),
        (
            "a.tsv",
            "frage\ti\tg",
            {"query_id": "frage", "relevance": "3"},
            "'3' for .*give its name",
        ),
        ("a.txt", "frage frage g", {"query_id": "frage"}, "occur twice"),
        ("a.tsv", "frage\ti\tg", {"query_id": "frage"}, "2 column.*missing, doc_id, relevance"),
    ],
)
def test_a_name_that_is_not_there_is_named_with_what_is(
    engine, tmp_path, name, header, columns, words
):
    separator = {"csv": ",", "tsv": "\t"}.get(name[2:], " ")
    path = written(tmp_path / name, f"{header}\n" + lines(separator, JUDGED))
    with pytest.raises(InputError) as refused:
        judged(engine, path, columns=columns)
    assert re.search(words, refused.value.worded(OPTIONS))


def test_files_with_blanks_and_different_names_are_refused_with_both(engine, tmp_path):
    written(tmp_path / "1.txt", lines(" ", JUDGED, *HEADER))
    written(tmp_path / "2.txt", lines(" ", JUDGED, "frage", "note", "seite"))
    with pytest.raises(
        InputError, match=r"1\.txt has 'frage seite note', .*2\.txt has 'frage note"
    ):
        judged(engine, tmp_path, columns=MAPPED)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("query kind\n1 web\n", "first line 'query kind' has none of the names frage"),
        ("frage kind\n1 web page\n", r"1 line\(s\) do not have the 2 fields .*'1 web page'"),
        ("frage frage\n1 web\n", "occur twice"),
    ],
)
def test_tables_of_queries_that_lack_the_names_are_refused(tmp_path, text, words):
    path = written(tmp_path / "s.txt", text)
    with pytest.raises(InputError, match=words):
        read_query_table(
            AttributesConfig(path=[str(path)], columns={"query_id": "frage"}), "query_attributes"
        )


# ---- comments and header blocks


@pytest.mark.parametrize(
    ("text", "found", "note"),
    [
        ("# one\n" + QRELS, 5, "1 comment line left out"),
        (QRELS + "#\n ## two words\n\t#1 0 10\n", 5, "3 comment lines left out"),
        ("# 1 0 10 3\n" + QRELS, 5, "1 comment line left out"),
        ("# 0 10 3\n" + QRELS, 5, "1 comment line left out"),
        ("\n<SYSDESC>a b</SYSDESC>\n" + QRELS, 5, "1 header block line left out"),
        (
            "# x\n<SYSDESC>\n1 0 9 3\n# y\n</SYSDESC>\n<RUN>z</RUN>\n" + QRELS,
            5,
            "1 comment line and 5 header block lines left out",
        ),
        (QRELS, 5, None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_and_header_blocks_are_counted_and_no_rows(
    engine, tmp_path, text, found, note, end
):
    source = judged(engine, written(tmp_path / "a.qrels.gz", text.replace("\n", end)))
    assert rows(source) == sorted(JUDGED, key=repr)
    assert [one for one in source.notes if one.endswith("left out")] == [note] * (note is not None)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (judged, "#1 0 10 3"),
        (judged, "  ##x 0 10 -1.5"),
        (returned, "#1 Q0 10 1 2.5 r"),
        (returned, "#1 Q0 10 1 2.5 r k1=0.9"),
    ],
)
def test_a_comment_that_may_be_a_row_is_rejected_with_its_line(engine, tmp_path, table, line):
    text = QRELS if table is judged else RUN
    source = table(engine, written(tmp_path / "a.txt", f"{text}{line}\n"))
    assert rows(source, LINE).count((line.strip(),)) == 1
    assert not [note for note in source.notes if note.endswith("left out")]


@pytest.mark.parametrize("line", ["#1 0 10 high", "#1 0 10", "#1 0 10 3 4", "# 0 10 3"])
def test_a_comment_that_is_no_row_is_one(engine, tmp_path, line):
    source = judged(engine, written(tmp_path / "a.txt", f"{line}\n{QRELS}"))
    assert len(rows(source)) == len(JUDGED)
    assert LINE not in source.table.columns


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_comments_and_blocks_are_found_in_parts_of_any_size(tmp_path, size):
    text = f"# a\n<SYSDESC>b\nc\nd</SYSDESC>\n{QRELS}# e\n{QRELS}".encode()
    columns = {"query_id": "q", "doc_id": "d", "relevance": "g"}
    how = Delimited(["q", "x", "d", "g"], columns)
    found = []
    for part in map(how.read, how.parts(file(tmp_path / "a", text), size)):
        assert not part.broken
        found += part.columns["doc_id"].to_pylist()
    assert found == [doc for _, doc, _ in JUDGED] * 2
    assert (sum(how.comments), sum(how.block_lines)) == (2, 3)


def test_each_file_of_a_run_has_its_own_header_block(engine, tmp_path):
    for at in range(3):
        text = f"<SYSDESC>{at}\n</SYSDESC>\n" + RUN.replace(" r\n", f" r{at}\n")
        written(tmp_path / f"{at}.txt", text)
    source = returned(engine, tmp_path)
    assert len(rows(source)) == 3 * len(SCORED)
    assert "6 header block lines left out" in source.notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<SYSDESC>a\n{RUN}", "<SYSDESC> does not end; end its last line with </SYSDESC>"),
        (f"<SYSDESC>a</SYSDESC> {RUN}", "<SYSDESC> does not end"),
        ("0.5\tqid:a1\t7:1\n# x\n", "features .*write the grade, the number after qid:"),
        ("# x\n1 qid:1 1:0.3 2:0.5 3:1 4:0\n", "features .*write the grade, the number after qid:"),
        ("2 qid:1 1:0.3 2:0.5 #docid = GX1\n", "features .*write the grade, the number after qid:"),
    ],
)
def test_text_that_begins_otherwise_is_refused_with_what_to_do(engine, tmp_path, text, words):
    with pytest.raises(InputError) as refused:
        returned(engine, written(tmp_path / "a.txt", text))
    assert re.search(words, refused.value.worded(OPTIONS))


@pytest.mark.parametrize("text", ["# a\n", "# a b c\n# d\n", "<SYSDESC>a</SYSDESC>\n"])
def test_text_of_nothing_but_comments_has_no_rows(engine, tmp_path, text):
    assert rows(judged(engine, written(tmp_path / "a.qrels", text))) == []


def test_lines_that_may_be_rows_tell_the_layout_if_there_are_no_others():
    assert first_lines(["# a b", "#1 a 3", "#2 b 1"], "a.txt") == ["#1 a 3", "#2 b 1"]


def test_csv_has_no_comments(engine, tmp_path):
    text = lines(",", [("#tv", "10", 3)], "query_id", "doc_id", "relevance")
    assert rows(judged(engine, written(tmp_path / "a.csv", text))) == [("#tv", "10", 3.0)]


# ---- fields of several lines

NOTED = [(*row, '"one,\ttwo;\n\nthree ""3"""') for row in JUDGED]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_table_may_have_fields_and_names_of_several_lines(
    engine, tmp_path, separator, suffix
):
    ending = ("tsv" if separator == "\t" else "csv") + suffix
    names = ("query_id", "doc_id", "relevance", '"a note,\t;\nor two"')
    path = written(tmp_path / f"j.{ending}", lines(separator, NOTED, *names))
    assert rows(judged(engine, path)) == JUDGED
    path = written(
        tmp_path / f"r.{ending}", lines(separator, NOTED, *names).replace("relevance", "score")
    )
    assert rows(returned(engine, path), "query_id", "doc_id", "score") == JUDGED
    excluded = ExcludeConfig(path=[str(path)])
    assert rows(read_excluded(engine, excluded)) == sorted(row[:2] for row in JUDGED)
    table = lines(separator, [(1, '"web\n\nshop"', 2)], "query_id", '"kind,\t;\nof"', "weight")
    path = written(tmp_path / f"q.{ending}", table)
    slices = read_query_table(AttributesConfig(path=[str(path)]), "query_attributes").to_pydict()
    assert slices["kind,\t;\nof"] == ["web\n\nshop"]
    weights = weight_rows(read_query_table(WeightsConfig(path=[str(path)]), "query_weights"))
    assert weights["weight"].to_pylist() == [2.0]


def test_what_is_in_quotes_in_a_header_separates_nothing(engine, tmp_path):
    names = ("query_id", "doc_id", "relevance", '"by; one; two; three; four"')
    path = written(tmp_path / "a.csv", lines(",", NOTED, *names))
    assert rows(judged(engine, path)) == JUDGED


def test_gzipped_text_of_several_members_is_whole(engine, tmp_path):
    content = gzipped(f"# a\n{QRELS}".encode()) + gzipped(b"# b\n1 0 14 2\n")
    source = judged(engine, written(tmp_path / "a.qrels.gz", content))
    assert len(rows(source)) == len(JUDGED) + 1
    assert "2 comment lines left out" in source.notes
