"""What is listed and read: whole nights or an explanation, never less than the record says."""

import datetime
import os

import pytest
from publish_and_die import EVALUATED_ON, publish

from ndcg_spark import read_scores
from ndcg_spark.errors import StorageError
from ndcg_spark.nights import recovery, store
from ndcg_spark.nights.committed import committed, expire
from ndcg_spark.nights.store import RECORDS, Store

OLD, NEW = "20261116T000000Z-old", "20261117T000000Z-new"


@pytest.fixture
def output(tmp_path):
    output = str(tmp_path / "scores")
    publish(output, OLD, 0.25, rejected=True)
    publish(output, NEW, 0.5, dataset="shop")
    return output


@pytest.mark.parametrize("table", ["query_scores", "dataset_scores", "rejected_rows"])
def test_a_record_without_its_files_is_told(output, table):
    found = Store(output)
    [path] = found.files(f"{table}/dataset=web", ".parquet")
    found.delete(path)
    for reader in (committed, read_scores):
        options = {"session": object()} if reader is read_scores else {}
        with pytest.raises(StorageError, match=rf"1 file\(s\) are gone .*, e\.g\. {path} of dataset=web/.*; run"):
            reader(output, **options)
    # A rerun puts it right.
    publish(output, NEW, 0.3)
    assert [night.dataset for night in committed(output)] == ["shop", "web"]


def test_a_record_of_an_earlier_version_without_dataset_scores_is_told(output):
    found = Store(output)
    for path in found.files(RECORDS, ".json"):
        record = found.read_json(path)
        del record["files"]
        found.write_json(path, record)
    assert len(committed(output)) == 2
    found.delete("dataset_scores/dataset=web")
    with pytest.raises(StorageError, match="are gone from"):
        committed(output)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_night_that_is_replaced_while_it_is_looked_at_is_no_loss(output, monkeypatch, times):
    files_of = Store.files
    reruns = []

    def files(store, path, suffix=""):
        if path == "query_scores" and len(reruns) < times:
            reruns.append(f"{NEW}{len(reruns)}")
            publish(output, reruns[-1], 0.3)
        return files_of(store, path, suffix)

    monkeypatch.setattr(Store, "files", files)
    assert [night.record["evaluation_id"] for night in committed(output)] == [NEW, reruns[-1]]
    assert len(reruns) == times


@pytest.mark.parametrize("do", [committed, recovery.recover, lambda output: expire(output, 1, EVALUATED_ON)])
def test_an_output_that_is_a_file_is_told(tmp_path, do):
    (tmp_path / "scores").write_text("no folder", encoding="utf-8")
    with pytest.raises(StorageError, match=r"scores is a file and no folder; check its path"):
        do(str(tmp_path / "scores"))


class Unreadable:
    """A file system that may not be looked into."""

    type_name = "local"

    def get_file_info(self, asked):
        raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("do", [committed, recovery.recover, lambda output: expire(output, 1, EVALUATED_ON)])
def test_an_output_that_cannot_be_read_is_told(monkeypatch, do):
    monkeypatch.setattr(store, "storage", lambda *_: (Unreadable(), "/secret"))
    with pytest.raises(StorageError, match=r"output: /secret cannot be read, .*Permission denied; check its path"):
        do("/secret")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to become another user")
@pytest.mark.parametrize("do", [committed, recovery.recover, lambda output: expire(output, 1, EVALUATED_ON)])
def test_another_user_is_told_that_an_output_may_not_be_read(tmp_path, output, do):
    (tmp_path / "scores" / "_evaluations").chmod(0o700)
    (tmp_path / "scores" / "_staging").chmod(0o700)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(StorageError, match=r"output: .*/scores cannot be .*Permission denied"):
            do(output)
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("days", [1_000_000, 10**12])
def test_nothing_is_older_than_the_first_date_there_is(output, days):
    assert expire(output, days, datetime.date(2026, 11, 30)) == []
    assert len(committed(output)) == 2


@pytest.mark.parametrize("scheme", ["File:", "FILE://", "file:", "File://"])
def test_a_scheme_may_be_written_in_capitals(tmp_path, scheme):
    publish(f"{scheme}{tmp_path}/scores", NEW, 0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["scores"]
    assert len(committed(f"{tmp_path}/scores")) == 1


@pytest.mark.parametrize("output", ["nope://x/y", "nope:/x/y", "S3:/bucket/x", "Fle:/x"])
def test_a_scheme_that_nobody_knows_is_refused(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"output: .*(is no path and no URI|no storage for)"):
        publish(output, NEW, 0.5)
    assert list(tmp_path.iterdir()) == []


def test_secrets_of_an_output_are_not_told():
    for output in ("nope:/KEY:SECRET@bucket/x", "nope://KEY:SECRET@bucket/x"):
        with pytest.raises(StorageError, match="output: ") as told:
            Store(output)
        assert "SECRET" not in str(told.value)


def test_an_output_is_named_without_its_secrets(monkeypatch):
    monkeypatch.setattr(store, "storage", lambda *_: (Unreadable(), "bucket/x"))
    with pytest.raises(StorageError, match=r"output: s3://\*\*\*@bucket/x cannot be read"):
        committed("S3://KEY:SECRET@bucket/x")
