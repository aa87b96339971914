"""JSON that is read a piece at a time: the same values, however the text is cut."""

import io

import pytest

from ndcg_spark.inputs import strict_json
from ndcg_spark.inputs.strict_json import JsonStream

VALUES = ["-1.5e+3", "0.10", "12", '"a \\" \\u00e9 \\ud83d\\ude00 \\\\"', "null", "true", '{"a": [1, {"b": ""}]}', "[]"]


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 1 << 20])
def test_values_are_the_same_however_the_text_is_cut(monkeypatch, piece):
    def values():
        stream = JsonStream(io.StringIO("\n{" + " ,\t".join(f'"k" : {value}' for value in VALUES) + "}\r\n"))
        return [stream.value() for _ in stream.members()]

    whole = values()
    monkeypatch.setattr(strict_json, "_PIECE", piece)
    assert values() == whole
    assert whole[:4] == ["-1.5e+3", "0.10", "12", 'a " é 😀 \\']


BROKEN = ["{", '{"a"', '{"a":', '{"a": 1', '{"a": 1,', '{"a": 1,}', '{"a": 1 "b"', '{"a": tru}', "{1: 2}"]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_an_object_that_is_none_is_an_error(monkeypatch, text, piece):
    monkeypatch.setattr(strict_json, "_PIECE", piece)
    stream = JsonStream(io.StringIO(text))
    with pytest.raises(ValueError, match="xpect"):
        [stream.value() for _ in stream.members()]


def test_text_longer_than_a_piece_is_one_value(monkeypatch):
    monkeypatch.setattr(strict_json, "_PIECE", 10)
    assert JsonStream(io.StringIO('"' + "x" * 1000 + '" ')).value() == "x" * 1000


def test_what_is_no_json_is_noticed_before_all_of_it_is_read(monkeypatch):
    monkeypatch.setattr(strict_json, "_PIECE", 100)
    text = io.StringIO('{"a": 1 "b": 2, ' + " " * 10_000 + "}")
    with pytest.raises(ValueError, match="Expecting ',' delimiter"):
        JsonStream(text).value()
    assert text.tell() == 100


def test_memory_holds_one_entry(monkeypatch):
    monkeypatch.setattr(strict_json, "_PIECE", 10)
    text = io.StringIO("{" + ", ".join(['"k": {"a": 1}'] * 1000) + "}")
    stream = JsonStream(text)
    for _ in stream.members():
        stream.value()
        assert len(stream._buffer) < 40
