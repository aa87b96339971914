"""Files and folders as people have them, on both engines: read whole and alike, or refused alike and by their names."""

import dataclasses
import decimal
import json
import os
import resource
import threading

import checked
import numpy as np
import pyarrow as pa
import pytest
from input_files import gzipped, judged, returned, written
from programs import forked
from sessions import on_spark
from tables import assert_table

from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.memory import is_readable
from ndcg_spark.rules import conform
from ndcg_spark.schemas import JUDGMENTS
from ndcg_spark.voices import Convert

ID = "0a1b2c3d-0000-1111-2222-333344445555"
NULL = "__HIVE_DEFAULT_PARTITION__"


def text(run, *documents):
    return "".join(
        f"q1 Q0 {name} {at} {9 - at} {run}\n"
        for at, name in enumerate(documents or ("d1", "d2"), start=1)
    )


def columns(run=None, documents=("d1", "d2"), **more):
    """The columns of results, without those that are None."""
    rows = len(documents)
    table = {
        "run": [run] * rows if run else None,
        "query_id": ["q1"] * rows,
        "doc_id": list(documents),
    }
    table |= {"score": [float(-at) for at in range(rows)], **more}
    return {name: values for name, values in table.items() if values is not None}


def as_kind(table, kind):
    """The same columns as a file of this kind."""
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if kind == "csv":
        return "\n".join([",".join(table), *(",".join(map(str, row.values())) for row in rows)])
    return "".join(f"{json.dumps(row)}\n" for row in rows) if kind == "jsonl" else table


STRANGE = {"a%2Fb": "a/b", "007": "007", "é [1]{x}*": "é [1]{x}*", "%25": "%", "a'b": "a'b"}
LOGS = {"delta": "t/_delta_log/0.json", "iceberg": "t/metadata/v1.metadata.json"}
TABLES = {kind: {log: "{}", "t/a.parquet": columns("a")} for kind, log in LOGS.items()}
TWO = {"run": ["a", "b"], "query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}
HALF = pa.array(np.array([1.0, 2.0], np.float16))

DAMAGED = {"cut": gzipped(text("b").encode())[:-9], "text": text("b").encode()}
NO_RANKS = {"a.parquet": columns("a", rank=pa.nulls(2))}
RANKS = {"b.parquet": columns("b", rank=[1, 2])}
NOTES = {
    f"{run}.parquet": columns(run, note=note) for run, note in (("a", ["x", "y"]), ("b", [1, 2]))
}
BOTH = {"a": 2, "b": 2}

#: By name: the files, what is given for the results (below the folder), and what comes of it: rows by run, or words.
CASES = {
    "gzipped or not, and hidden": (
        {
            **{name: text("r", name) for name in ("a.run", "b.run.gz", "more/c.run")},
            "_SUCCESS": "",
            ".d.run": "x",
        },
        "",
        {"r": 3},
    ),
    **{
        f"a file called {name}": (
            {name: text("r") if "run" in name else as_kind(columns("r"), "csv")},
            name,
            {"r": 2},
        )
        for name in ("[1]*.run", "a b%20#,.run", "{x}?.csv", "a:b.run")
    },
    "= in a parquet name": (
        {"a.parquet": columns("a"), "k=0.9_b=0.4.parquet": columns("b")},
        "",
        BOTH,
    ),
    "= in a name below a folder of a run": (
        {"run=a/k=1.parquet": columns(), "run=b/p.parquet": columns()},
        "",
        BOTH,
    ),
    **{
        f"strange folders of {kind}": (
            {f"run={name}/a.{kind}": as_kind(columns(), kind) for name in STRANGE},
            "",
            dict.fromkeys(STRANGE.values(), 2),
        )
        for kind in ("parquet", "csv", "jsonl")
    },
    "folders of orc": ({f"run={run}/p.orc": columns() for run in "ab"}, "", BOTH),
    "a null folder of trec": ({f"run={NULL}/a.run": text("x")}, "", "no_run|without a run"),
    "a null folder of parquet": (
        {f"run={run}/a.parquet": columns() for run in (NULL, "b")},
        "",
        "without a run",
    ),
    "folders of different columns": (
        dict.fromkeys(("query_id=q1/a.run", "b.run"), text("r")),
        "",
        "different columns",
    ),
    "folders alike but for their case": ({"RUN=a/run=b/c.run": text("r")}, "", "RUN and run"),
    "a folder below another of its name": ({"run=a/run=b/c.run": text("r")}, "", "run and run"),
    "parts of one write": (
        {f"part-0000{n}-{ID}.parquet": columns("t", [f"d{n}"]) for n in (1, 2)},
        "",
        {"t": 2},
    ),
    "parquet without an ending": (
        {f"a/00000{n}_0": columns(run) for n, run in enumerate("ab")},
        "a",
        BOTH,
    ),
    "delta": (TABLES["delta"], "t", "/t cannot be read|in Delta format"),
    "iceberg": (TABLES["iceberg"], "t", "is in Iceberg format"),
    **{
        f"delta within {given}": (TABLES["delta"], given, "t is in Delta format")
        for given in ("", "*/*.parquet")
    },
    "gzip of several parts": (
        {"a.run.gz": b"".join(gzipped(text("a", name).encode()) for name in "xy")},
        "",
        {"a": 2},
    ),
    "no file with a byte": ({"a.run": "", "b.run.gz": ""}, "", "no rows in .*a.run and 1 more"),
    **{
        f"a file without a byte, {kind}": ({f"a.{kind}": "", f"b.{kind}": content}, "", {"r": 2})
        for kind, content in (
            *(
                ("run", text("r")),
                ("csv", as_kind(columns("r"), "csv")),
                ("jsonl", as_kind(columns("r"), "jsonl")),
            ),
        )
    },
    **{
        f"a damaged file, {name}": (
            {"a.run.gz": text("a"), "b.run.gz": stored},
            "",
            r"/b\.run\.gz cannot be read",
        )
        for name, stored in DAMAGED.items()
    },
    "an unused column of two types": (NOTES, "", BOTH),
    "a rank without a value": (NO_RANKS, "", {"a": 2}),
    "a rank without a value in one file": (NO_RANKS | RANKS, "", BOTH),
    "numbers of two types": (
        {"a.parquet": columns("a"), "b.parquet": columns("b", score=[3, 2])},
        "",
        BOTH,
    ),
    "scores of two types": (
        {"a.parquet": columns("a"), "b.parquet": columns("b", score=[True, False])},
        "",
        "score is double and bool; use one type",
    ),
    "ranks in one file only": ({"a.parquet": columns("a")} | RANKS, "", BOTH),
    "scores in one file only": (
        {"a.parquet": columns("a"), "b.parquet": columns("b", score=None)},
        "",
        "b.parquet: no column score, which other files have",
    ),
}


def settings_of(folder, case):
    """Writes the files of a case; what is given for them."""
    files, given, _ = CASES[case]
    for file, content in files.items():
        written(folder / "results" / file, content)
    written(folder / "web.qrels", "q1 0 d1 1\n")
    return {
        "judgments": {"path": f"{folder}/web.qrels"},
        "results": {"path": f"{folder}/results/{given}"},
    }


@pytest.mark.parametrize("given", ["", "t", "t/a.parquet", "*/a.parquet"])
def test_a_table_whose_log_is_empty_is_refused(engine, tmp_path, given):
    written(tmp_path / "t/a.parquet", columns("a"))
    assert returned(engine, tmp_path / given).table.count() == 2
    (tmp_path / "t/_delta_log").mkdir()
    with pytest.raises(InputError, match=r"t (is in Delta format|cannot be read)"):
        returned(engine, tmp_path / given)


#: What Spark reads by names that it could take for others, or only a look into the files can tell.
ON_SPARK = (
    *("= in a name below a folder of a run", "strange folders of parquet", "numbers of two types"),
    "a rank without a value in one file",
)
#: Those of whose files, folders and globs Spark alone can tell the names.
FAR = {
    *("= in a name below a folder of a run", "strange folders of parquet", "parts of one write"),
    *("an unused column of two types", *LOGS),
}


@pytest.mark.parametrize("name", on_spark(CASES, *ON_SPARK))
def test_a_folder_is_read_whole_or_refused(engine, tmp_path, name):
    checked.is_as_expected(checked.check(engine, settings_of(tmp_path, name)), CASES[name][2])


@pytest.mark.classic
@pytest.mark.parametrize("name", sorted(FAR))
def test_a_folder_that_only_spark_sees_is_read_whole_or_refused(engine, tmp_path, name):
    far = dataclasses.replace(engine, sees_local_files=False)
    checked.is_as_expected(checked.check(far, settings_of(tmp_path, name)), CASES[name][2])


#: A folder, the kind of its file, and what the rows say.
CONTRADICTIONS = [
    *(("run=a", kind, "run=b") for kind in ("run", "csv", "jsonl", "parquet")),
    *(("query_id=q2", kind, "query_id=q1") for kind in ("csv", "parquet")),
    ("score=2", "parquet", "score=1"),
]


@pytest.mark.parametrize(
    ("folder", "kind", "other"),
    on_spark(CONTRADICTIONS, CONTRADICTIONS[0], CONTRADICTIONS[3], CONTRADICTIONS[-1]),
)
def test_a_folder_that_says_something_else_than_the_rows_is_refused(
    engine, tmp_path, folder, kind, other
):
    content = "q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 b\n" if kind == "run" else as_kind(TWO, kind)
    written(tmp_path / folder / f"p.{kind}", content)
    with pytest.raises(
        InputError,
        match=rf"p\.{kind} has rows with {other}(\.0)?, but its folder is {folder}; correct",
    ):
        returned(engine, tmp_path)
    assert returned(engine, tmp_path / folder).table.count() == 2
    assert folder != "run=a" or returned(engine, tmp_path, run="mine").table.count() == 2


@pytest.mark.parametrize(
    "values", [{"query_id": ["007", "007"]}, {"query_id": [7, 7], "score": [2, 2]}]
)
@pytest.mark.parametrize("kind", on_spark(["csv", "parquet"], "parquet"))
def test_a_folder_that_says_the_same_as_the_rows_is_read(engine, tmp_path, kind, values):
    query = values["query_id"][0]
    table = {
        name: column
        for name, column in {**TWO, **values}.items()
        if name != "score" or name in values
    }
    written(tmp_path / f"query_id={query}" / "score=2.0" / f"p.{kind}", as_kind(table, kind))
    read = returned(engine, tmp_path).table
    read = read.selectExpr("string(query_id) as query_id", "double(score) as score")
    assert_table(read, "query_id string, score double", *[(str(query), 2.0)] * 2)


def checked_with_few_files(given):
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    with open_engine("embedded") as engine:
        print(json.dumps(checked.check(engine, given)))  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("name", ["{}.run", "run=r{}/a.csv"])
def test_many_files_and_folders_are_read_where_few_may_be_open(tmp_path, name):
    for number in range(300):
        is_text = name.endswith(".run")
        content = text(f"r{number}") if is_text else as_kind(columns(), "csv")
        written(tmp_path / "results" / name.format(number), content)
    written(tmp_path / "web.qrels", "q1 0 d1 1\n")
    given = {
        name: {"path": f"{tmp_path}/{path}"}
        for name, path in (("judgments", "web.qrels"), ("results", "results"))
    }
    done = forked(checked_with_few_files, given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {f"r{number}": 2 for number in range(300)}


#: Types that some engine cannot read, in columns that nobody wants.
UNREAD = {
    "pandas' dates": pa.array([1], pa.timestamp("ns", "UTC")),
    "dates within a list": pa.array([[1]], pa.list_(pa.timestamp("ns"))),
    "times of day in nanoseconds": pa.array([1], pa.time64("ns")),
    "times of day": pa.array([1], pa.time32("ms")),
    "small floats within a struct": pa.StructArray.from_arrays(
        [pa.array(np.array([1.0], np.float16))], ["x"]
    ),
    "categories within a struct": pa.StructArray.from_arrays(
        [pa.array(["a"]).dictionary_encode()], ["x"]
    ),
    "wide decimals": pa.array([decimal.Decimal(1)], pa.decimal256(60, 18)),
}


def test_a_column_that_nobody_wants_may_be_of_any_type(engine, tmp_path):
    assert not [name for name, values in UNREAD.items() if is_readable(values.type)]
    row = {"query_id": ["q"], "doc_id": ["d"], "relevance": [1.0]}
    read = judged(engine, written(tmp_path / "a.parquet", {**row, **UNREAD})).table
    assert_table(read, "query_id string, doc_id string, relevance double", ("q", "d", 1.0))


WIDE = "1234567890123456789012.000000000000000001"


@pytest.mark.parametrize(
    ("kind", "grades", "expected"),
    [
        *((kind, [1.5, 2.0], 1.5) for kind in ("parquet", "orc")),
        *(("parquet", grades, 1.0) for grades in (HALF, pa.array([1, 2], pa.uint64()))),
        ("parquet", pa.array([decimal.Decimal(WIDE), None], pa.decimal256(60, 18)), float(WIDE)),
    ],
)
def test_values_are_those_that_were_stored_in_whatever_type(
    engine, tmp_path, kind, grades, expected
):
    ids = {"query_id": pa.array([7, 7]), "doc_id": pa.array(["007", None])}
    if kind == "parquet":
        ids = {name: column.dictionary_encode() for name, column in ids.items()}
    written(tmp_path / f"a.{kind}", {**ids, "relevance": grades, "by": ["x", "y"]})
    source = judged(engine, tmp_path / f"a.{kind}")
    assert (source.format, source.expected_rows) == (kind, 2)
    first = conform(source.table, JUDGMENTS).where("doc_id is not null")
    assert_table(first, "query_id string, doc_id string, relevance double", ("7", "007", expected))


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.time32("ms"), pa.duration("s")])
def test_a_time_is_no_id_and_its_file_is_named(engine, tmp_path, kind):
    written(
        tmp_path / "a.parquet",
        {"query_id": ["q"], "doc_id": pa.array([1], kind), "relevance": [1.0]},
    )
    with pytest.raises(
        InputError, match=r"a\.parquet: 1 column\(s\) of the wrong type, doc_id is "
    ):
        judged(engine, tmp_path / "a.parquet")


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_truncated_parquet_file_is_refused_by_name(engine, tmp_path, kept):
    for name in ("1.parquet", "2.parquet"):
        written(tmp_path / name, columns("r", ["d"] * 99))
    whole = (tmp_path / "2.parquet").read_bytes()
    # Without its last bytes it may still be Parquet by its name.
    written(
        tmp_path / "2.parquet", whole[: int(len(whole) * kept) if isinstance(kept, float) else kept]
    )
    with pytest.raises(InputError, match=r"results: .*/2\.parquet cannot be read, "):
        returned(engine, tmp_path)


@pytest.mark.parametrize(
    ("name", "scores"), [("a.orc", [1.0] * 1000), ("a.parquet", HALF.take(pa.array([0] * 1000)))]
)
def test_damaged_pages_of_a_file_that_is_written_again_are_refused_by_name(
    engine, tmp_path, name, scores
):
    table = {
        "run": [f"r{at}" for at in range(1000)],
        "query_id": ["q"] * 1000,
        "doc_id": ["d"] * 1000,
    }
    written(tmp_path / name, {**table, "score": scores})
    stored = (tmp_path / name).read_bytes()
    written(tmp_path / name, stored[:8] + b"\xff" * 500 + stored[508:])
    with pytest.raises(InputError, match=rf"^results: {tmp_path}/{name} cannot be read, "):
        returned(engine, tmp_path / name)


@pytest.mark.parametrize(("most", "repeated"), [(1 << 26, 9), (10, 9), (1 << 16, 100_000)])
def test_an_engine_that_does_not_see_this_machine_gets_a_small_table_with_the_plan(
    session, tmp_path, monkeypatch, most, repeated
):
    monkeypatch.setattr("ndcg_spark.inputs.dataframes._MAX_SENT", most)
    written(tmp_path / "a.run", text("r", *(["d"] * repeated)))
    far = Engine(session, "connect", "a server", sees_local_files=False)
    try:
        if most == 1 << 26:
            assert returned(far, tmp_path / "a.run").table.count() == repeated
            return
        with pytest.raises(InputError, match=r"a server cannot read; ") as refused:
            returned(far, tmp_path / "a.run")
        assert isinstance(refused.value.advice, Convert)
    finally:
        far.scratch.remove()


@pytest.mark.parametrize("kind", ["run", "parquet"])
@pytest.mark.parametrize(("most", "is_read"), [(1 << 26, True), (10, False)])
def test_a_pipe_is_sent_to_a_cluster_which_does_not_have_its_copy(
    session, tmp_path, monkeypatch, kind, most, is_read
):
    monkeypatch.setattr("ndcg_spark.inputs.dataframes._MAX_SENT", most)
    written(tmp_path / f"a.{kind}", text("r") if kind == "run" else columns("r"))
    content = (tmp_path / f"a.{kind}").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    cluster = Engine(session, "spark", "a cluster", sees_local_files=False)
    try:
        if is_read:
            assert returned(cluster, tmp_path / "pipe").table.count() == 2
        else:
            with pytest.raises(InputError, match=r"a cluster cannot read; "):
                returned(cluster, tmp_path / "pipe")
    finally:
        writer.join()
        cluster.scratch.remove()
