"""Damaged files of the log and of tables: what cannot be read says so, and no other number is ever shown."""

import json

import pyarrow as pa
import pytest
from kept_nights import DATE, WEB, publish, record, seen, whole
from pyarrow import parquet as pq

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.log import committed, log_row
from ndcg_spark.nights.reader import read_dataset_scores, read_nights, read_rows, select_nights
from ndcg_spark.nights.store import LOG

BEFORE = "2026-11-15"
#: JSON that is nested too deeply for any reader.
DEEP = "[" * 100_000 + "]" * 100_000
RESULT = {"run": "r", "severity": "fail", "result": "pass"}


def write_by_hand(folder, row):
    """A file of the log without a checksum in its name, as earlier versions and other programs write it."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([row]), folder / "by-hand.parquet")


def hand_row(**more):
    row = log_row(
        record(files={}), dataset="web", evaluation_id="hand", status="published", number=1
    )
    return {
        name: value for name, value in row.items() if name not in ("evaluated_on", "inputs")
    } | more


ODD = {
    "a number as text": {"number": "1"},
    "a text for a truth value": {"is_baseline": "no"},
    "no id": {"evaluation_id": None},
    "no id of a failed evaluation": {"status": "failed", "evaluation_id": None},
    "no dataset": {"dataset": None},
    "an unknown status": {"status": "publishd"},
    "broken JSON": {"options": '{"gain": '},
    "JSON that is nested too deeply": {"findings": DEEP},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_row_that_no_evaluation_wrote_makes_its_date_unreadable(tmp_path, caplog, odd):
    publish(str(tmp_path), "a", 0.1, date=BEFORE)
    folder = tmp_path / LOG / f"evaluated_on={DATE}"
    write_by_hand(folder, hand_row(findings=json.dumps({"results": [RESULT]})))
    assert len(committed(str(tmp_path))) == 2
    write_by_hand(folder, hand_row(**odd))
    known = committed(str(tmp_path))
    assert [night.evaluation_id for night in known] == ["a"]
    assert "by-hand.parquet" in caplog.text
    with pytest.raises(StorageError, match=r"by-hand\.parquet cannot be read"):
        select_nights(known, str(tmp_path), DATE)


def test_a_text_that_a_program_wrote_as_bytes_is_a_text(tmp_path):
    publish(str(tmp_path), "a", 0.1, date=BEFORE)
    as_bytes = {
        name: value.encode() if isinstance(value, str) else value
        for name, value in hand_row().items()
    }
    write_by_hand(tmp_path / LOG / f"evaluated_on={DATE}", as_bytes)
    assert [night.dataset for night in committed(str(tmp_path))] == ["web", "web"]


@pytest.mark.parametrize(
    "lost", ["status", "number", "evaluation_id", "dataset", "files", "options"]
)
def test_a_file_of_the_log_without_a_column_is_damaged(tmp_path, lost):
    row = hand_row()
    del row[lost]
    write_by_hand(tmp_path / LOG / f"evaluated_on={DATE}", row)
    assert {*committed(str(tmp_path)).damaged} == {DATE}


def test_text_that_is_no_utf8_and_a_file_without_rows_are_damage(tmp_path):
    folder = tmp_path / LOG / f"evaluated_on={DATE}"
    row = hand_row(note="MARK")
    write_by_hand(folder, row)
    file = folder / "by-hand.parquet"
    file.write_bytes(file.read_bytes().replace(b"MARK", b"\xff\xfe\xfd\xfc"))
    assert {*committed(str(tmp_path)).damaged} == {DATE}
    pq.write_table(pa.Table.from_pylist([row])[:0], file)
    assert {*committed(str(tmp_path)).damaged} == {DATE}


def test_a_folder_that_is_no_date_is_not_one_of_ours(tmp_path):
    publish(str(tmp_path), "a", 0.1)
    write_by_hand(tmp_path / LOG / "evaluated_on=2026-13-45", hand_row(number="x"))
    known = committed(str(tmp_path))
    assert ([night.evaluated_on for night in known], known.damaged) == ([DATE], {})


def flipped(content, at, bit=1):
    """A content with one other bit."""
    return content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]


@pytest.mark.parametrize("table", ["query_scores", "dataset_scores"])
def test_any_changed_byte_of_a_table_is_noticed_and_its_file_named(tmp_path, table):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    (file,) = (tmp_path / table).rglob("*.parquet")
    content = file.read_bytes()
    for at in range(0, len(content), 29):
        file.write_bytes(flipped(content, at))
        with pytest.raises(StorageError, match=file.name):
            seen(output, table)
        if table == "dataset_scores":
            with pytest.raises(StorageError, match=file.name):
                read_dataset_scores(committed(output))
    file.write_bytes(content)
    assert seen(output, table) == {WEB: whole(0.1, "a")}


def test_an_engine_does_not_read_a_changed_file_either(session, tmp_path):
    publish(str(tmp_path), "a", 0.1)
    (file,) = (tmp_path / "query_scores").rglob("*.parquet")
    content = file.read_bytes()
    file.write_bytes(flipped(content, len(content) // 3))
    with pytest.raises(StorageError, match=file.name):
        read_nights(committed(str(tmp_path)), "query_scores", session)


def test_files_that_were_written_before_there_were_checksums_are_read(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    (night,) = committed(output)
    files = {
        table: {
            name: {"rows": file["rows"], "bytes": file["bytes"]} for name, file in entries.items()
        }
        for table, entries in night.record["files"].items()
    }
    (file,) = (tmp_path / LOG).rglob("*.parquet")
    row = {
        name: value
        for name, value in night.row.items()
        if name not in ("evaluated_on", "file", "written")
    }
    file.unlink()
    write_by_hand(file.parent, {**row, "files": json.dumps(files)})
    assert seen(output) == {WEB: whole(0.1, "a")}
    assert read_rows(committed(output), "dataset_scores").num_rows == 3
