"""What is read: the rows of every evaluation that counts, whole or with the name of the file that is not."""

import os
import shutil
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq
import pytest
from commands import command_line
from gated_nights import in_a_session, settings
from kept_nights import date
from kept_nights import night as kept_night
from publish_and_die import EVALUATED_ON, NEW, NEXT, OLD, WEB, publish, record, staged, whole
from pyarrow import fs
from readers import seen

from ndcg_spark import read_scores
from ndcg_spark.config import validate
from ndcg_spark.errors import StorageError
from ndcg_spark.job.evaluate import evaluate
from ndcg_spark.nights import layout
from ndcg_spark.nights.expire import old_nights, waste
from ndcg_spark.nights.layout import Store, night_folder, night_of
from ndcg_spark.nights.read import read_dataset_scores, read_evaluation, read_nights, read_rows
from ndcg_spark.nights.records import ReplacedError, committed

pytestmark = pytest.mark.embedded


def rows_of(session, output, table, *columns):
    """The rows of a table by the engine."""
    return [tuple(row) for row in read_scores(output, table, session).select(*columns).collect()]


@pytest.fixture
def read(session):
    """Both ways to read a table: by the engine, and without one."""

    def by_engine(output, table="dataset_scores"):
        return sorted(rows_of(session, str(output), table, "evaluation_id", "ndcg"))

    def by_us(output, table="dataset_scores"):
        found = read_rows(committed(str(output)), table, ["evaluation_id", "ndcg"]).to_pylist()
        return sorted(tuple(row.values()) for row in found)

    return by_engine, by_us


def test_120_nights_are_read_though_a_plan_may_only_be_100_expressions_deep(session, tmp_path, read):
    for number in range(120):
        kept_night(tmp_path, number, {"a": number / 200})
    # A superseded evaluation is still there, and one that has no record yet.
    (folder,) = tmp_path.glob(f"dataset_scores/dataset=web/evaluated_on={date(7)}/*")
    for name in ("d7", "z7"):
        folder.with_name(f"evaluation_id={name}").mkdir()
        os.link(folder / "part.parquet", folder.with_name(f"evaluation_id={name}") / "part.parquet")
    records = tmp_path / f"_evaluations/dataset=web/evaluated_on={date(7)}"
    os.link(records / "000001-e7.json", records / "000000-d7.json")
    for reader in read:
        assert reader(tmp_path) == sorted((f"e{number}", number / 200) for number in range(120))
    assert rows_of(session, str(tmp_path), "rejected_rows", "evaluation_id") == []


def test_a_night_of_a_version_without_slices_has_scores_of_all_queries(session, tmp_path):
    later = ["attribute", "value", "ndcg_stderr"]
    kept_night(tmp_path, 0, {"a": 0.5}, without=later)
    kept_night(tmp_path, 1, {"a": 0.25})
    found = [row for rows in read_dataset_scores(committed(str(tmp_path))) for row in rows]
    assert [(row["ndcg"], *(row[name] for name in later)) for row in found] == [(0.5, *[None] * 3), (0.25, *[None] * 3)]
    by_engine = rows_of(session, str(tmp_path), "dataset_scores", "ndcg", *later)
    assert sorted(by_engine, key=str) == [(0.25, *[None] * 3), (0.5, *[None] * 3)]
    by_us = read_rows(committed(str(tmp_path)), "dataset_scores", ["ndcg", *later]).to_pylist()
    assert sorted(row["ndcg"] for row in by_us) == [0.25, 0.5]


@pytest.mark.parametrize(
    ("state", "words"),
    [("missing", "is missing"), ("truncated", "is damaged"), ("another night's", "is damaged")],
)
def test_a_file_that_is_not_as_it_was_published_is_named_and_other_nights_are_read(tmp_path, read, state, words):
    for number in range(2):
        kept_night(tmp_path, number, {"a": 0.5} if number else {"a": 0.1, "b": 0.2})
    paths = [next(tmp_path.glob(f"dataset_scores/*/evaluated_on={date(number)}/*/part.parquet")) for number in range(2)]
    if state == "missing":
        paths[0].unlink()
    else:
        paths[0].write_bytes(paths[1].read_bytes() if state == "another night's" else paths[0].read_bytes()[:-9])
    path = paths[0].relative_to(tmp_path)
    for reader in read:
        with pytest.raises(StorageError, match=rf"1 file\(s\) of the night {date(0)} of web .*, e\.g\. {path} {words}"):
            reader(tmp_path)
    ((row,),) = read_dataset_scores(committed(str(tmp_path))[1:])
    assert row["ndcg"] == 0.5


@pytest.mark.parametrize("stray", ["x.parquet", "dataset=web/x.parquet", "backup/dataset=web/evaluated_on=x/x.parquet"])
def test_a_stray_file_in_a_table_is_named_where_an_engine_would_read_it(tmp_path, read, stray):
    for number in range(11):
        kept_night(tmp_path, number, {"a": 0.5})
    path = tmp_path / "dataset_scores" / stray
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(next(tmp_path.rglob("part.parquet")).read_bytes())
    with pytest.raises(
        StorageError, match=rf"1 file\(s\) in .* belong to no evaluation, e\.g\. dataset_scores/{stray}"
    ):
        read[0](tmp_path)
    assert sorted(read[1](tmp_path)) == sorted((f"e{number}", 0.5) for number in range(11))


def test_a_night_that_is_replaced_while_it_is_read_is_told_from_one_that_is_damaged(tmp_path):
    publish(str(tmp_path), OLD, 0.1)
    nights = committed(str(tmp_path))
    _ = nights[0].record
    publish(str(tmp_path), NEW, 0.7)
    with pytest.raises(ReplacedError):
        read_rows(nights, "query_scores")


def test_a_table_of_every_evaluation_has_one_row_for_each_night(session, tmp_path):
    told = record(
        formula="0.5",
        verdict={"verdict": "fail", "reason": "ndcg@10 fell"},
        inputs={"judgments": {"fingerprint": "j"}, "results": {"fingerprint": "r"}},
        counts={"results": 2**40},
        seconds={"evaluate": 1.25},
    )
    staged(str(tmp_path), NEW, 0.5, dataset="shop+web").commit(
        told, {"shop": {"verdict": {"verdict": "pass", "reason": "r"}, "accepted": {"reason": "because", "at": "now"}}}
    )
    publish(str(tmp_path), NEXT, 0.25, dataset="web", evaluated_on=EVALUATED_ON.replace(day=17))
    columns = ["dataset", "verdict", "reason", "accepted", "judgments_fingerprint", "results_fingerprint"]
    columns += ["convention", "formula", "engine", "committed_at", "counts", "seconds"]
    found = sorted(rows_of(session, str(tmp_path), "evaluations", *columns), key=str)
    same = ("standard", "0.5", "e", told["committed_at"], {"results": 2**40}, {"evaluate": 1.25})
    assert found == [
        ("shop", "pass", "r", "because", "j", "r", *same),
        ("web", "fail", "ndcg@10 fell", None, "j", "r", *same),
        ("web", None, None, None, None, None, "standard", "0.25", "e", told["committed_at"], {}, {}),
    ]
    (path,) = tmp_path.glob(f"evaluations/dataset=shop/*/evaluation_id={NEW}/*.parquet")
    assert pq.read_table(path, columns=["record"], partitioning=None).num_rows == 1


def test_a_night_that_was_copied_to_another_date_is_a_night_of_its_own(session, tmp_path):
    kept_night(tmp_path, 0, {"a": 0.5})
    for path in [*tmp_path.glob("*/*/*")]:
        shutil.copytree(path, path.with_name(f"evaluated_on={date(1)}"))
    nights = committed(str(tmp_path))
    assert [[row["ndcg"] for row in rows] for rows in read_dataset_scores(nights)] == [[0.5], [0.5]]
    assert number_of_rows(session, str(tmp_path), date(1)) == 1


def number_of_rows(session, output, day):
    nights = [night for night in committed(output) if night.evaluated_on == day]
    return read_nights(nights, "dataset_scores", session).count()


def test_a_folder_without_nights_is_listed_as_such(tmp_path):
    done = command_line("nights", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "there is no night; check the path"), done.stderr


def test_an_evaluation_whose_nights_were_all_replaced_has_no_scores_to_hand_over(tmp_path):
    publish(str(tmp_path), OLD, 0.1)
    publish(str(tmp_path), NEW, 0.7)
    with pytest.raises(StorageError, match=f"{OLD} in .* was replaced before its scores were read"):
        read_evaluation(str(tmp_path), OLD, None)


class Vanishing:
    """A file system in which a folder is removed while it is listed, the first so many times."""

    type_name = "local"

    def __init__(self, times):
        self.times = times

    def get_file_info(self, asked):
        if isinstance(asked, fs.FileSelector) and self.times:
            self.times -= 1
            raise FileNotFoundError("Cannot list directory")
        return fs.LocalFileSystem().get_file_info(asked)


def test_a_folder_that_is_removed_while_it_is_listed_is_listed_again(tmp_path):
    publish(str(tmp_path), NEW, 0.7)
    store = Store(str(tmp_path))
    store._system = Vanishing(3)
    assert store.folders("query_scores") == ["dataset=web"]
    store._system = Vanishing(1000)
    with pytest.raises(FileNotFoundError):
        store.folders("query_scores")


class Unreadable:
    """A file system that may not be looked into."""

    type_name = "local"

    def get_file_info(self, asked):
        raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("do", [committed, waste, lambda output: old_nights(output, 1, EVALUATED_ON)])
def test_an_output_that_cannot_be_read_is_named_without_its_secrets(monkeypatch, do):
    monkeypatch.setattr(layout, "storage", lambda *_: (Unreadable(), "bucket/x"))
    with pytest.raises(StorageError, match=r"output: s3://\*\*\*@bucket/x cannot be read, .*Permission denied; check"):
        do("S3://KEY:SECRET@bucket/x")


@pytest.mark.parametrize("scheme", ["File:", "FILE://", "file:", "File://"])
def test_a_scheme_may_be_written_in_capitals(tmp_path, scheme):
    publish(f"{scheme}{tmp_path}/scores", NEW, 0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["scores"]
    assert seen(tmp_path / "scores") == {WEB: whole(0.5, NEW)}


@pytest.mark.parametrize("output", ["nope://KEY:SECRET@x/y", "nope:/KEY:SECRET@x/y", "S3:/bucket/x", "Fle:/x"])
def test_a_scheme_that_nobody_knows_is_refused_without_its_secrets(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"output: .*(is neither a path nor a URI|no storage for)") as refused:
        publish(output, NEW, 0.5)
    assert "SECRET" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_two_engines_spell_a_folder_differently_and_it_is_one_night():
    spark_spells, pysail_spells = "dataset=a%2Fb%3Dc é/evaluated_on=d", "dataset=a%2Fb=c %C3%A9/evaluated_on=d"
    assert night_of(spark_spells) == night_of(pysail_spells) == ("a/b=c é", "d")
    assert night_folder("a/b=c é", "d") == spark_spells


def compared_while_it_is_evaluated_again(folder, when):
    """The evaluations that `compare` has compared, and all there were; the night is evaluated again meanwhile."""
    from ndcg_spark.job import compare as compare_job
    from ndcg_spark.job.compare import ComparisonRequest

    night = {key: value for key, value in settings(Path(folder), "2026-11-16").items() if key != "gate"}
    ids, compare_tables = [], compare_job.compare_tables

    def again():
        if len(ids) < 2:
            evaluate(validate(night, "test"), lambda *_: None, None)
            ids.append(committed(night["output"])[0].evaluation_id)

    def told(step, _):
        if step == "engine" and when == "before its files are looked at":
            again()

    def compare(*given, **more):
        if when == "before its rows are read":
            again()
        return compare_tables(*given, **more)

    again()
    with mock.patch.object(compare_job, "compare_tables", compare):
        found = compare_job.compare_nights(
            ComparisonRequest(night["output"], baselines=["bm25"], engine="embedded"), told
        )
    return [[row["run"] for row in found.rows], committed(night["output"])[0].evaluation_id == ids[-1], len(ids)]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before its files are looked at", "before its rows are read"])
def test_a_night_that_is_evaluated_again_while_it_is_compared_is_compared_as_it_is_then(tmp_path, when):
    assert in_a_session(compared_while_it_is_evaluated_again, tmp_path, when) == [["hybrid"], True, 2]
