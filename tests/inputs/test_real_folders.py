"""Folders as people have them, on the classic and the embedded engine: read whole and alike, or refused alike."""

import dataclasses
import gzip

import checked
import pyarrow as pa
import pytest
from ndcg_spark.inputs.lost_rows import refuse_lost_rows
from programs import called
from pyarrow import orc
from pyarrow import parquet as pq

from ndcg_spark.config import ResultsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import gathering, run_files
from ndcg_spark.inputs.files import find
from ndcg_spark.inputs.read import read_results

ID = "0a1b2c3d-0000-1111-2222-333344445555"


def run_lines(run, query="q1", documents=("d1", "d2")):
    return "".join(f"{query} Q0 {name} {at} {9 - at} {run}\n" for at, name in enumerate(documents, start=1))


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str | bytes):
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    elif content is not None:
        (orc.write_table if ".orc" in file.name else pq.write_table)(pa.table(content), file)


def columns(run, query="q1", documents=("d1", "d2"), **more):
    """The columns of results, without the run where it is None."""
    rows = len(documents)
    table = {"run": [run] * rows if run else None, "query_id": [query] * rows, "doc_id": list(documents)}
    table = {**table, "score": [float(-at) for at in range(rows)], **more}
    return {name: values for name, values in table.items() if values is not None}


def csv(run, documents=("d1", "d2")):
    return "run,query_id,doc_id,score\n" + "".join(f"{run},q1,{name},1\n" for name in documents)


#: By name: the files, what is given for the results (below the folder), and what comes of it: rows by run, or words.
CASES = {
    "= in a parquet name": (
        {"a.parquet": columns("a"), "bm25_k1=0.9_b=0.4.parquet": columns("b")},
        "",
        {"a": 2, "b": 2},
    ),
    "= in a name below a folder of a run": (
        {"run=a/k=1.parquet": columns(None), "run=c/p.parquet": columns(None)},
        "",
        {"a": 2, "c": 2},
    ),
    "= in a csv name": ({"a.csv": csv("a"), "k=1.csv": csv("b")}, "", {"a": 2, "b": 2}),
    "strange folders": (
        {f"run={name}/a.run": run_lines("x") for name in ("a%2Fb", "007", "é [1]{x}*", "%25", "a'b")},
        "",
        dict.fromkeys(("a/b", "007", "é [1]{x}*", "%", "a'b"), 2),
    ),
    "a null folder of trec": ({"run=__HIVE_DEFAULT_PARTITION__/a.run": run_lines("x")}, "", "no_run|without a run"),
    "a null folder of parquet": (
        {"run=__HIVE_DEFAULT_PARTITION__/a.parquet": columns("x"), "run=b/a.parquet": columns("x")},
        "",
        "no_run|without a run",
    ),
    "one tag in two trec files": (
        {"bm25.run": run_lines("Anserini"), "dense.run": run_lines("Anserini", documents=("d8", "d9"))},
        "",
        r"run_in_two_files, 1 run.* 1 of Anserini: q1 is in .*/bm25\.run and .*/dense\.run; .*with --run-from file",
    ),
    "one tag in two gzipped files, by glob": (
        {"a.gz": gzip.compress(run_lines("t").encode()), "b.run": run_lines("t", documents=("d8",))},
        "*",
        "run_in_two_files",
    ),
    "a tag that comes late in a file": (
        {"a.run": run_lines("a") + run_lines("b"), "b.run": run_lines("b", documents=("d8",))},
        "",
        r"run_in_two_files, 1 run.* 1 of b: q1",
    ),
    "one run, queries split over files": (
        {"1.run": run_lines("t", "q1"), "2.run": run_lines("t", "q2")},
        "",
        {"t": 4},
    ),
    "several runs in files of their own": ({"1.run": run_lines("a"), "2.run": run_lines("b")}, "", {"a": 2, "b": 2}),
    "one run in two parquet files": (
        {"a.parquet": columns("t"), "b.parquet": columns("t", documents=("d8",))},
        "",
        "run_in_two_files",
    ),
    "one run in two csv files": ({"a.csv": csv("t"), "b.csv": csv("t", ("d8",))}, "", "run_in_two_files"),
    "parts of one write": (
        {f"part-0000{n}-{ID}-c000.parquet": columns("t", documents=(f"d{n}",)) for n in (1, 2)},
        "",
        {"t": 2},
    ),
    "parts of one write of text": (
        {f"part-0000{n}": run_lines("t", documents=(f"d{n}",)) for n in (1, 2)},
        "",
        {"t": 2},
    ),
    "parts of two writes": (
        {
            f"part-00001-{ID}-c000.parquet": columns("t"),
            f"part-00001-{ID[::-1]}-c000.parquet": columns("t", documents=("d8",)),
        },
        "",
        "run_in_two_files",
    ),
    "delta": ({"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")}, "t", "table of Delta"),
    "a folder above delta": ({"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")}, "", "t is a table of Delta"),
    "a file of delta": (
        {"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")},
        "t/a.parquet",
        "t is a table of Delta",
    ),
    "a glob into delta": (
        {"t/_delta_log/0.json": "{}", "t/day=1/a.parquet": columns("a")},
        "t/day=*/*.parquet",
        "t is a table of Delta",
    ),
    "a glob over delta": (
        {"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")},
        "*/*.parquet",
        "t is a table of Delta",
    ),
    "iceberg": (
        {"t/metadata/v1.metadata.json": "{}", "t/data/a.parquet": columns("a")},
        "t",
        "table of Iceberg",
    ),
    "data of iceberg": (
        {"t/metadata/1.gz.metadata.json": "{}", "t/data/day=1/a.parquet": columns("a")},
        "t/data/day=1",
        "t is a table of Iceberg",
    ),
    "hudi": ({"t/.hoodie/hoodie.properties": "x", "t/a.parquet": columns("a")}, "t", "t is a table of Hudi"),
    "a folder called metadata": ({"metadata/a.run": run_lines("a"), "b.run": run_lines("b")}, "", {"a": 2, "b": 2}),
    "parquet without an extension": ({"bm25": columns("a"), "dense": columns("b")}, "", {"a": 2, "b": 2}),
    "orc without an extension": ({"a.orc.data": columns("a")}, "", {"a": 2}),
    "parquet called run": ({"a.run": columns("a"), "b.run": run_lines("b")}, "", r"2 formats .*parquet \(.*a\.run\)"),
    "gzip without an extension": ({"a.run": gzip.compress(run_lines("a").encode())}, "", {"a": 2}),
    "gzipped csv without an extension": ({"a.csv": gzip.compress(csv("a").encode())}, "", {"a": 2}),
    "an unused column of two types": (
        {"a.parquet": columns("a", note=["x", "y"]), "b.parquet": columns("b", note=[1, 2])},
        "",
        {"a": 2, "b": 2},
    ),
    "an unused column of orc of two types": (
        {"a.orc": columns("a", note=["x", "y"]), "b.orc": columns("b", note=[1, 2])},
        "",
        {"a": 2, "b": 2},
    ),
    "a rank without a value": ({"a.parquet": columns("a", rank=pa.nulls(2))}, "", {"a": 2}),
    "a rank without a value in one file": (
        {"a.parquet": columns("a", rank=pa.nulls(2)), "b.parquet": columns("b", rank=[1, 2])},
        "",
        {"a": 2, "b": 2},
    ),
    "scores of two types in parquet": (
        {"a.parquet": columns("a"), "b.parquet": columns("b", score=[3, 2])},
        "",
        r"score is double in .*a\.parquet and int64 in .*b\.parquet; write them alike",
    ),
    "scores of two types in orc": (
        {"a.orc": columns("a", score=[3, 2]), "b.orc": columns("b", score=[3.9, 2.0])},
        "",
        r"score is int64 in .*a\.orc and double in .*b\.orc; write them alike",
    ),
    "orc in folders": (
        {f"run={run}/p.orc": columns(None) for run in "ab"},
        "",
        {"a": 2, "b": 2},
    ),
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    settings = {}
    for number, (name, (files, given, _)) in enumerate(CASES.items()):
        folder = tmp_path_factory.mktemp(f"case{number}")
        for file, content in files.items():
            write(folder / "results" / file, content)
        write(folder / "web.qrels", "q1 0 d1 1\n")
        settings[name] = {
            "judgments": {"path": f"{folder}/web.qrels"},
            "results": {"path": f"{folder}/results/{given}"},
        }
    return settings


@pytest.fixture(scope="module")
def embedded(settings):
    return called(checked.on_one_engine, settings)


def is_as_told(found, expected):
    if isinstance(expected, dict):
        assert found == expected
    else:
        assert found.get("code") == 3, found
        with pytest.raises(AssertionError, match=expected):
            raise AssertionError(found["error"])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_read_whole_or_refused_on_the_embedded_engine(embedded, name):
    is_as_told(embedded[name], CASES[name][2])


#: What only a look into the files can tell.
NEEDS_EYES = {
    *("parquet without an extension", "orc without an extension", "parquet called run", "gzip without an extension"),
    *("gzipped csv without an extension", "a rank without a value in one file"),
    *("scores of two types in parquet", "scores of two types in orc"),
}


#: Those whose files this process sees, and which Spark reads by names that it could take for others.
NAMED = {"= in a name below a folder of a run", "strange folders"}


#: Those of whose files, folders and globs only Spark can tell the names.
FAR = {
    *("= in a name below a folder of a run", "strange folders", "a null folder of trec", "parts of one write"),
    *("one tag in two gzipped files, by glob", "one run in two parquet files", "an unused column of two types"),
    *("orc in folders", "delta", "iceberg", "hudi"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_read_whole_or_refused_on_classic_spark(engine, settings, name, thorough):
    if not thorough and name not in NAMED | NEEDS_EYES:
        pytest.skip("is read as another case is, and on the embedded engine; with --thorough")
    is_as_told(checked.check(engine, settings[name]), CASES[name][2])


@pytest.mark.parametrize("name", sorted(CASES.keys() - NEEDS_EYES))
def test_a_folder_that_only_spark_sees_is_read_whole_or_refused(engine, settings, name, thorough):
    if not thorough and name not in FAR:
        pytest.skip("is read as another case is; with --thorough")
    far = dataclasses.replace(engine, sees_local_files=False)
    is_as_told(checked.check(far, settings[name]), CASES[name][2])


def test_no_option_merges_two_files_of_one_run(tmp_path):
    cases = {}
    for named, tags in ((None, "tt"), ("mine", "tu")):
        folder = tmp_path / str(named)
        for name, tag in zip("ab", tags, strict=True):
            write(folder / "runs" / f"{name}.run", run_lines(tag))
        write(folder / "web.qrels", "q1 0 d1 1\n")
        paths = {"judgments": {"path": f"{folder}/web.qrels"}, "results": {"path": f"{folder}/runs", "run": named}}
        for duplicates in ("best", "error"):
            options = {"convention": {"duplicates": duplicates}, "max_rejected_fraction": 1.0}
            cases[f"{named}, {duplicates}"] = {**paths, **options}
    for name, found in called(checked.on_one_engine, cases).items():
        assert "run_in_two_files, 1 run(s) with queries in two files" in found["error"], name


def test_rows_that_an_engine_passes_over_are_refused_with_their_file(engine, tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.parquet", columns(name))
    source = read_results(engine, ResultsConfig(path=[str(tmp_path)]), [str(tmp_path)])
    refuse_lost_rows(source, 4)
    whole = source.reread
    lossy = dataclasses.replace(source, reread=lambda some: whole(some).where("run = 'a'"))
    with pytest.raises(
        InputError, match=r"read 2 rows and the files hold 4, 1 file.s. differ, e\.g\. .*/b\.parquet \(0 of"
    ):
        refuse_lost_rows(lossy, 2)


@pytest.mark.slow
def test_many_files_and_folders_are_read_where_few_may_be_open(tmp_path):
    for number in range(300):
        write(tmp_path / "flat" / f"{number}.run", run_lines(f"r{number}"))
        write(tmp_path / "folders" / f"run=r{number}" / "a.csv", "query_id,doc_id,score\nq1,d1,1\n")
    write(tmp_path / "web.qrels", "q1 0 d1 1\n")
    qrels = {"path": str(tmp_path / "web.qrels")}
    given = {name: {"judgments": qrels, "results": {"path": str(tmp_path / name)}} for name in ("flat", "folders")}
    found = checked.on_embedded(given, "bash", "-c", 'ulimit -S -n 128 && exec "$@"', "bash")
    assert found["flat"] == {f"r{number}": 2 for number in range(300)}
    assert found["folders"] == {f"r{number}": 1 for number in range(300)}


def test_files_of_a_far_storage_are_united_one_by_one_on_an_engine_without_their_names(engine, tmp_path):
    for run in ("a", "b c"):
        write(tmp_path / f"run={run}" / "x[1].run", run_lines("x"))
    found = find(str(tmp_path), "results")
    # x[1].run, taken for a glob, would match this file.
    write(tmp_path / "run=a" / "x1.run", run_lines("x", documents=("d1", "d2", "d3")))
    table = gathering._one_by_one(engine, "text", found, {file.path: at for at, file in enumerate(found)}, "results")
    rows = table.select(gathering.folder(0), run_files.UNIT).collect()
    assert sorted(map(tuple, rows)) == [("a", 0)] * 2 + [("b c", 1)] * 2
