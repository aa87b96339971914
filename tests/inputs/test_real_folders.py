"""Folders as people have them, on the classic and the embedded engine: read whole and alike, or refused alike."""

import dataclasses
import gzip
import json
import resource

import checked
import pyarrow as pa
import pytest
from programs import forked
from pyarrow import orc
from pyarrow import parquet as pq

from ndcg_spark.engine import open_engine

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
    "strange folders": (
        {
            f"run={name}/a.csv": "query_id,doc_id,score\nq1,d1,2\nq1,d2,1\n"
            for name in ("a%2Fb", "007", "é [1]{x}*", "%25", "a'b")
        },
        "",
        dict.fromkeys(("a/b", "007", "é [1]{x}*", "%", "a'b"), 2),
    ),
    "a null folder of trec": ({"run=__HIVE_DEFAULT_PARTITION__/a.run": run_lines("x")}, "", "no_run|without a run"),
    "a null folder of parquet": (
        {f"run={run}/a.parquet": columns(None) for run in ("__HIVE_DEFAULT_PARTITION__", "b")},
        "",
        "no_run|without a run",
    ),
    "parts of one write": (
        {f"part-0000{n}-{ID}-c000.parquet": columns("t", documents=(f"d{n}",)) for n in (1, 2)},
        "",
        {"t": 2},
    ),
    "delta": ({"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")}, "t", "table of Delta"),
    "a folder above delta": ({"t/_delta_log/0.json": "{}", "t/a.parquet": columns("a")}, "", "t is a table of Delta"),
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
    "iceberg": ({"t/metadata/v1.metadata.json": "{}", "t/data/a.parquet": columns("a")}, "t", "table of Iceberg"),
    "hudi": ({"t/.hoodie/hoodie.properties": "x", "t/a.parquet": columns("a")}, "t", "t is a table of Hudi"),
    "parquet without an extension": ({"bm25": columns("a"), "dense": columns("b")}, "", {"a": 2, "b": 2}),
    "orc without an extension": ({"a.orc.data": columns("a")}, "", {"a": 2}),
    "parquet called run": ({"a.run": columns("a"), "b.run": run_lines("b")}, "", r"2 formats .*parquet \(.*a\.run\)"),
    "gzip without an extension": ({"a.run": gzip.compress(run_lines("a").encode())}, "", {"a": 2}),
    "an unused column of two types": (
        {"a.parquet": columns("a", note=["x", "y"]), "b.parquet": columns("b", note=[1, 2])},
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
    "orc in folders": ({f"run={run}/p.orc": columns(None) for run in "ab"}, "", {"a": 2, "b": 2}),
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


def is_as_told(found, expected):
    if isinstance(expected, dict):
        assert found == expected
    else:
        assert found.get("code") == 3, found
        with pytest.raises(AssertionError, match=expected):
            raise AssertionError(found["error"])


#: What only a look into the files can tell.
NEEDS_EYES = {
    *("parquet without an extension", "orc without an extension", "parquet called run", "gzip without an extension"),
    *("a rank without a value in one file", "scores of two types in parquet"),
}


#: Those whose files this process sees, and which Spark reads by names that it could take for others.
NAMED = {"= in a name below a folder of a run", "strange folders"}


#: Those of whose files, folders and globs only Spark can tell the names.
FAR = {
    *("= in a name below a folder of a run", "strange folders", "a null folder of trec", "parts of one write"),
    *("an unused column of two types", "orc in folders"),
    *("delta", "iceberg", "hudi"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_folder_is_read_whole_or_refused(engine, settings, name, thorough):
    if engine.kind == "spark" and not thorough and name not in NAMED | NEEDS_EYES:
        pytest.skip("is read as another case is, and on the embedded engine; with --thorough")
    is_as_told(checked.check(engine, settings[name]), CASES[name][2])


@pytest.mark.classic
@pytest.mark.parametrize("name", sorted(CASES.keys() - NEEDS_EYES))
def test_a_folder_that_only_spark_sees_is_read_whole_or_refused(engine, settings, name, thorough):
    if not thorough and name not in FAR:
        pytest.skip("is read as another case is; with --thorough")
    far = dataclasses.replace(engine, sees_local_files=False)
    is_as_told(checked.check(far, settings[name]), CASES[name][2])


def checked_with_few_files(given):
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    with open_engine("embedded") as engine:
        print(json.dumps({name: checked.check(engine, case) for name, case in given.items()}))  # noqa: T201


@pytest.mark.slow
def test_many_files_and_folders_are_read_where_few_may_be_open(tmp_path):
    for number in range(300):
        write(tmp_path / "flat" / f"{number}.run", run_lines(f"r{number}"))
        write(tmp_path / "folders" / f"run=r{number}" / "a.csv", "query_id,doc_id,score\nq1,d1,1\n")
    write(tmp_path / "web.qrels", "q1 0 d1 1\n")
    qrels = {"path": str(tmp_path / "web.qrels")}
    given = {name: {"judgments": qrels, "results": {"path": str(tmp_path / name)}} for name in ("flat", "folders")}
    done = forked(checked_with_few_files, given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["flat"] == {f"r{number}": 2 for number in range(300)}
    assert found["folders"] == {f"r{number}": 1 for number in range(300)}
