"""Labels in place of grades: every format and every kind of table, as its tool writes it."""

import csv
import json
import math
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from commands import command_line
from evaluations import evaluated
from input_files import judged, rows, written
from pyarrow import parquet as pq
from sessions import on_spark, paired
from tables import assert_table

from ndcg_spark import (
    compare_judgments,
    config,
    evaluate,
    explain,
    find_convention,
    read_scores,
    reference,
)
from ndcg_spark.contract import scan
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.nights.log import committed
from ndcg_spark.voices import KEYS, OPTIONS

ESCI = {"E": 4, "S": 3, "C": 2, "I": 1}
#: Query, document and label, with blanks around one.
JUDGED = [("1", "a", "E"), ("1", "b", "I"), ("1", "c", "S"), ("2", "a", "C"), ("2", "d", "E")]
RANKED = {"1": {"b": 3.0, "a": 2.0, "c": 1.0}, "2": {"a": 2.0, "x": 1.0}}
GRADED = [(query, doc, ESCI[label]) for query, doc, label in JUDGED]
COLUMNS = {
    "query_id": [query for query, _, _ in JUDGED],
    "product_id": [doc for _, doc, _ in JUDGED],
    "esci_label": [label for _, _, label in JUDGED],
}
OURS = dict(zip(("query_id", "doc_id", "relevance"), COLUMNS.values(), strict=True))
BY_QUERY = {query: {doc: label for q, doc, label in JUDGED if q == query} for query in "12"}
NAMED = {"columns": {"doc_id": "product_id", "relevance": "esci_label"}}
#: The mean of the reference.
EXPECTED = sum(
    reference.score(
        query,
        [(doc, grade) for q, doc, grade in GRADED if q == query],
        [(doc, score, None) for doc, score in RANKED[query].items()],
        Convention(),
        10,
    ).ndcg
    for query in "12"
) / len(RANKED)


def lines(separator, *before, **how):
    texts = [*before]
    for query, doc, label in JUDGED:
        texts.append(
            separator.join(how.get("layout", "{0}|{1}|{2}").split("|")).format(query, doc, label)
        )
    return "".join(f"{text}\n" for text in texts)


def json_lines():
    return "".join(
        json.dumps({"query_id": query, "doc_id": doc, "label": label}) + "\n"
        for query, doc, label in JUDGED
    )


def json_lists():
    return "".join(
        json.dumps({"query_id": query, "doc_ids": [*docs], "label": [*docs.values()]}) + "\n"
        for query, docs in BY_QUERY.items()
    )


LISTS = {
    "query_id": [*BY_QUERY],
    "doc_ids": [[*docs] for docs in BY_QUERY.values()],
    "relevance": [[*docs.values()] for docs in BY_QUERY.values()],
}
STRUCTS = {
    "query_id": [*BY_QUERY],
    "judged": [
        [{"doc_id": doc, "label": label} for doc, label in docs.items()]
        for docs in BY_QUERY.values()
    ],
}
#: By name of a file as a tool writes it, its content and what the configuration says of its columns.
FILES = {
    "label.csv": (
        lines("\t", "id\tquery_id\tproduct_id\tlabel", layout="7|{0}|{1}|{2}"),
        {"columns": {"doc_id": "product_id"}},
    ),
    "examples.csv": (lines(",", "query_id,product_id,esci_label"), NAMED),
    "quoted.csv": (lines(",", "query_id,doc_id,label", layout='"{0}"|"{1}"|" {2} "'), {}),
    "labels.tsv": (lines("\t", "query_id\tdoc_id\tlabel"), {}),
    "ntcir.qrels": (lines(" "), {}),
    "trec.qrels": (lines(" ", layout="{0}|0|{1}|{2}"), {}),
    "judged.jsonl": (json_lines(), {}),
    "lists.jsonl": (json_lists(), {}),
    "judged.json": (json.dumps(BY_QUERY), {}),
    "examples.parquet": (COLUMNS, NAMED),
    "examples.orc": (COLUMNS, NAMED),
    "lists.parquet": (LISTS, {}),
    "structs.parquet": (STRUCTS, {}),
}
#: One of each kind of reader: of text, of files that Spark reads, and of lists in their rows.
READ_ALIKE = ("examples.csv", "examples.parquet", "lists.parquet", "structs.parquet")
TEXTS = [name for name, (content, _) in FILES.items() if isinstance(content, str)]


@pytest.mark.parametrize("name", on_spark([*FILES, *(f"{name}.gz" for name in TEXTS)], *READ_ALIKE))
def test_every_file_has_the_grades_of_its_labels(engine, tmp_path, name):
    content, more = FILES[name.removesuffix(".gz")]
    source = judged(engine, written(tmp_path / name, content), grades=ESCI, **more)
    columns = "query_id string, doc_id string, relevance double"
    read = source.table.selectExpr("string(query_id) as query_id", "doc_id", "relevance")
    assert_table(read, columns, *((*row[:2], float(row[2])) for row in GRADED))
    # What is looked up in the files without the engine has them too.
    stored = [
        (row["query_id"], row["doc_id"], row["relevance"]) for row in source.stored.of_queries("12")
    ]
    assert sorted(stored) == sorted(GRADED)


def test_the_highest_grade_is_found_again_without_the_engine(engine, tmp_path):
    for name, content in (("a.csv", CSV), ("a.parquet", OURS), ("lists.parquet", LISTS)):
        source = judged(engine, written(tmp_path / name, content), grades=ESCI)
        assert max(source.stored.values("relevance")) == max(ESCI.values())


@pytest.mark.parametrize("name", on_spark(FILES, "structs.parquet"))
def test_the_fingerprint_is_that_of_the_grades(engine, tmp_path, name):
    content, more = FILES[name]
    text = judged(engine, written(tmp_path / name, content), grades=ESCI, **more)
    columns = {**OURS, "relevance": [float(grade) for _, _, grade in GRADED]}
    numbers = judged(engine, written(tmp_path / "numbers.parquet", columns))
    assert scan.fingerprints(text.table) == scan.fingerprints(numbers.table)


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


TABLES = {
    "pandas": lambda: pd.DataFrame(OURS),
    "pandas categories": lambda: pd.DataFrame(OURS).astype({"relevance": "category"}),
    "pandas with an index": lambda: pd.DataFrame(OURS).set_index(["query_id", "doc_id"]),
    "pyarrow": lambda: pa.table(OURS),
    "a dictionary of labels": lambda: BY_QUERY,
    "a dictionary of columns": lambda: OURS,
    "tuples": lambda: JUDGED,
    "lists": lambda: pa.table(LISTS),
    "structs": lambda: pa.table(STRUCTS),
    "Polars": lambda: polars(OURS),
    "lazy Polars": lambda: polars(OURS).lazy(),
}


@pytest.mark.embedded
@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_python_scores_as_the_reference_does(name):
    scores = evaluate(TABLES[name](), RANKED, 10, grades=ESCI)
    assert scores.dataset_scores["ndcg"].tolist() == pytest.approx([EXPECTED], abs=1e-12)


def test_a_lazy_table_scores_as_the_reference_does(session):
    judgments = session.createDataFrame(pa.table(OURS))
    scores = evaluate(judgments, RANKED, 10, grades=ESCI, session=session)
    assert scores.to_pandas().dataset_scores["ndcg"].tolist() == pytest.approx(
        [EXPECTED], abs=1e-12
    )


def test_a_lazy_table_refuses_a_label_without_a_grade(session):
    judgments = session.createDataFrame(pa.table(OURS))
    scores = evaluate(judgments, RANKED, 10, grades={"E": 1, "S": 1, "C": 1}, session=session)
    with pytest.raises(Exception, match=r"relevance_has_no_grade.*relevance=I.*grades"):
        scores.to_pandas()


def test_a_lazy_table_of_text_says_how_labels_get_their_grades(session):
    scores = evaluate(session.createDataFrame(pa.table(OURS)), RANKED, 10, session=session)
    with pytest.raises(Exception, match=r"relevance_is_no_number.*grades=\{label: grade\}"):
        scores.to_pandas()


def tables(folder, content, name="qrels.csv", **judgments):
    """The two tables of a configuration, written as files."""
    run = "".join(
        f"{query} Q0 {doc} 1 {score} r\n"
        for query, docs in RANKED.items()
        for doc, score in docs.items()
    )
    path = written(folder / name, content)
    results = written(folder / "one.run", run)
    return {"judgments": {"path": str(path), **judgments}, "results": str(results)}


def settings(folder, content, name="qrels.csv", judgments=None, **more):
    made = tables(folder, content, name, **(judgments or {}))
    return config.validate({**made, "cutoffs": [10], **more}, "test")


CSV = lines(",", "query_id,doc_id,label")


def refusal(folder, content, name="qrels.csv", **more):
    with pytest.raises(InputError) as error:
        evaluated(settings(folder, content, name, **more))
    return error.value


def test_labels_without_grades_are_refused_with_the_labels_that_were_found(session, tmp_path):
    for name, content in (("a.csv", CSV), ("a.parquet", OURS), ("a.qrels", lines(" "))):
        error = refusal(tmp_path, content, name)
        assert "--grades C=GRADE,E=GRADE,I=GRADE,S=GRADE" in error.worded(OPTIONS)
        assert 'judgments.grades = {"C" = GRADE, "E" = GRADE' in error.worded(KEYS)
        assert "grades={'C': GRADE, 'E': GRADE, 'I': GRADE, 'S': GRADE}" in str(error)


NO_LABELS = [
    # Of too many kinds, a decimal comma, no value at all, and one wrong grade among numbers.
    ([f"label{at}" for at in range(13)], "correct"),
    (["1,5", "2,5"], "decimals with a point"),
    (["NaN", "NaN"], "correct"),
    (["1", "2", "E"], "correct"),
]


@pytest.mark.parametrize(("grades", "why"), on_spark(NO_LABELS, NO_LABELS[-1]))
def test_what_is_no_label_is_not_taken_for_one(session, tmp_path, grades, why):
    content = {
        "query_id": ["1"] * len(grades),
        "doc_id": [f"d{at}" for at in range(len(grades))],
        "relevance": grades,
    }
    message = refusal(tmp_path, content, "a.parquet").worded(OPTIONS)
    assert why in message
    assert "--grades" not in message


@pytest.mark.parametrize(
    ("label", "name"),
    on_spark(paired(["X", "e", "4", "4.0", "", "E F"], ["a.csv", "a.parquet"]), ("e", "a.parquet")),
)
def test_a_label_without_a_grade_is_a_rejected_row(session, tmp_path, name, label):
    content = {
        name: [*values, extra]
        for (name, values), extra in zip(OURS.items(), ("1", "z", label), strict=True)
    }
    if name.endswith("csv"):
        content = pd.DataFrame(content).to_csv(index=False)
    error = refusal(tmp_path, content, name, judgments={"grades": ESCI})
    assert "1 label(s) without a grade" in str(error)
    assert "z" in str(error)
    allowed = settings(
        tmp_path, content, name, judgments={"grades": ESCI}, max_rejected_fraction=0.5
    )
    outcome, _ = evaluated(allowed)
    assert [(row["reason"], row["rows"]) for row in outcome.rejected] == [
        ("relevance_has_no_grade", 1)
    ]
    assert outcome.dataset_scores[0]["ndcg"] == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 0, 1]),
        pa.array([1.0, 0.0, 1.0]),
        pa.array([True, False, True]),
        pa.array(["1", "0 ", "\t1"]),
        pa.array(["1", "0", "1"]).dictionary_encode(),
    ],
    ids=["whole", "double", "boolean", "text", "dictionary"],
)
def test_a_label_may_be_a_number(engine, tmp_path, values):
    table = {"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "relevance": values}
    named = {"1": 3, "0": 0.5} | ({"true": 3, "false": 0.5} if values.type == pa.bool_() else {})
    source = judged(engine, written(tmp_path / "a.parquet", table), grades=named)
    assert rows(source, "doc_id", "relevance") == [("a", 3.0), ("b", 0.5), ("c", 3.0)]


def test_json_has_labels_that_are_numbers(engine, tmp_path):
    text = (
        '{"query_id": 1, "doc_id": "a", "label": 1}\n{"query_id": 1, "doc_id": "b", "label": "E"}\n'
    )
    source = judged(engine, written(tmp_path / "a.jsonl", text), grades={"1": 3, "E": 4})
    assert rows(source, "doc_id", "relevance") == [("a", 3.0), ("b", 4.0)]


def test_a_table_of_the_catalog_has_the_grades_of_its_labels(engine):
    engine.session.createDataFrame(pa.table(OURS)).createOrReplaceTempView("labelled_rows")
    source = judged(engine, "table:labelled_rows", grades=ESCI)
    assert rows(source, "query_id", "doc_id", "relevance") == sorted(GRADED, key=repr)


def test_files_that_are_looked_up_again_have_them(engine, tmp_path):
    source = judged(engine, written(tmp_path / "a.parquet", OURS), grades=ESCI)
    expected = [(grade,) for _, _, grade in GRADED]
    assert_table(source.lookup(source.files), "relevance double", *expected)


def test_files_of_text_and_of_numbers_are_one_table(engine, tmp_path):
    parts = {"a.parquet": ["E", "I"], "b.parquet": [2, 2]}
    for name, labels in parts.items():
        written(
            tmp_path / "t" / name,
            {"query_id": ["1"] * 2, "doc_id": [name, f"{name}2"], "relevance": labels},
        )
    source = judged(engine, tmp_path / "t", grades={**ESCI, "2": 9})
    assert rows(source, "relevance") == [(1.0,), (4.0,), (9.0,), (9.0,)]


def test_a_folder_may_give_the_label(engine, tmp_path):
    for label in ("E", "I"):
        written(
            tmp_path / f"relevance={label}" / "a.parquet", {"query_id": ["1"], "doc_id": [label]}
        )
    source = judged(engine, tmp_path, grades=ESCI)
    assert rows(source, "doc_id", "relevance") == [("E", 4.0), ("I", 1.0)]


@pytest.mark.parametrize(
    "grades",
    [{}, [], {"E": "four"}, {"E": True}, {"E": math.nan}, {"": 1}, {" E": 1, "E": 2}, {"E": None}],
)
def test_a_map_that_is_none_is_refused(grades):
    tables = {"judgments": {"path": "a", "grades": grades}, "results": "b"}
    with pytest.raises(ConfigurationError, match="grades"):
        config.validate(tables, "test")


def test_one_grade_for_all_and_grades_of_labels_are_a_contradiction():
    tables = {"judgments": {"path": "a", "grades": {"E": 1}, "relevance": 1}, "results": "b"}
    with pytest.raises(ConfigurationError, match="leave one out"):
        config.validate(tables, "test")
    with pytest.raises(ConfigurationError, match="leave one out"):
        evaluate(BY_QUERY, RANKED, grades=ESCI, relevance=1)


@pytest.mark.embedded
@pytest.mark.parametrize("given", ["E=4,S=3,C=2,I=1", " E = 4 , S=3.0,C=2e0,I=+1,"])
def test_the_command_takes_them(tmp_path, given):
    made = settings(tmp_path, CSV)
    paths = [*made.judgments.path, *made.results.path]
    done = command_line(
        "evaluate", *paths, "--cutoffs", 10, "--grades", given, "--format", "json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dataset_scores"][0]["ndcg"] == pytest.approx(EXPECTED)


@pytest.mark.embedded
@pytest.mark.parametrize("given", ["E", "E=", "=4", "E=4,S", "E=four", "E=4,E=3", ",", ""])
def test_the_command_says_how_they_are_written(tmp_path, given):
    done = command_line("evaluate", "a", "b", "--grades", given, cwd=tmp_path)
    assert done.returncode == 2
    assert "--grades" in done.stderr


@pytest.mark.embedded
def test_labels_may_have_commas_and_equal_signs(tmp_path):
    labels = {"exact, brand": 2, "a=b": 1}
    text = 'query_id,doc_id,label\n1,a,"exact, brand"\n1,b,a=b\n'
    made = settings(tmp_path, text)
    paths = [*made.judgments.path, *made.results.path]
    given = ",".join(f"{label}={grade}" for label, grade in labels.items())
    assert command_line("check", *paths, "--grades", given, cwd=tmp_path).returncode == 0


@pytest.mark.embedded
@pytest.mark.usefixtures("few_presets")
@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["explain", "--query", "1"],
        ["judge-next"],
        ["conventions", "--compare"],
        ["judgments"],
    ],
)
def test_every_command_that_reads_judgments_takes_them(tmp_path, command):
    made = settings(tmp_path, CSV)
    second = made.judgments.path if command == ["judgments"] else made.results.path
    given = ["--grades", "E=4,S=3,C=2,I=1"]
    done = command_line(*command, *made.judgments.path, *second, *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.embedded
def test_convert_writes_the_grades(tmp_path):
    for name, content in (("a.csv", CSV), ("a.parquet", OURS)):
        path, out = written(tmp_path / name, content), tmp_path / f"{name}.out"
        given = ["--input", "judgments", "--grades", "E=4,S=3,C=2,I=1"]
        done = command_line("convert", path, out, *given, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        table = pq.read_table(out).to_pylist()
        assert sorted(
            (row["query_id"], row["doc_id"], row["relevance"]) for row in table
        ) == sorted(GRADED)
        assert set(table[0]) == {"query_id", "doc_id", "relevance"}
        other = command_line("convert", path, tmp_path / "no", *given[:-1], "E=4", cwd=tmp_path)
        assert other.returncode == 3


@pytest.mark.embedded
def test_the_functions_of_python_take_them():
    view = explain(BY_QUERY, RANKED, query="1", grades=ESCI).to_pandas()
    assert view["relevance"].tolist() == [1.0, 4.0, 3.0]
    numbers = {
        query: {doc: ESCI[label] for doc, label in docs.items()} for query, docs in BY_QUERY.items()
    }
    agreed = compare_judgments(BY_QUERY, BY_QUERY, grades=ESCI)
    assert agreed["kappa"].tolist() == [1.0]
    scores = evaluate(numbers, RANKED, 10, gain="linear").query_scores
    old = scores.rename(columns={"ndcg": "ndcg@10"})[["query_id", "run", "ndcg@10"]]
    found = find_convention(old, BY_QUERY, RANKED, grades=ESCI)
    assert (found.verdict, found.convention.gain) == ("exact", "linear")


@pytest.mark.embedded
def test_nights_of_labels_and_of_numbers_have_the_same_judgments(tmp_path):
    numbers = pd.DataFrame({**OURS, "relevance": [grade for _, _, grade in GRADED]})
    made = {
        "2026-11-20": tables(tmp_path / "a", CSV, grades=ESCI),
        "2026-11-21": tables(tmp_path / "b", numbers.to_csv(index=False)),
    }
    output = str(tmp_path / "nights")
    for date, one in made.items():
        more = {"output": output, "date": date, "documents": "all", "cutoffs": [10]}
        evaluated(config.validate({**one, **more}, "test"))
    logged = committed(output)
    assert len({night.row["judgments_fingerprint"] for night in logged}) == 1
    kept = json.loads(logged[0].row["configuration"])["judgments"]["grades"]
    assert kept == ESCI
    hashes = read_scores(output, "query_scores").groupby("query_id")["judgments_hash"].nunique()
    assert hashes.tolist() == [1, 1]
    asked = ["--baseline-date", "2026-11-20", "--format", "csv"]
    done = command_line("compare", output, *asked, cwd=tmp_path)
    rows_of = list(csv.DictReader(done.stdout.splitlines()))
    # Both nights have the same judgments, so there is one side.
    assert [(row["side"], float(row["difference"])) for row in rows_of] == [("", 0)]


GUIDE = (Path(__file__).parents[2] / "ndcg_spark/guides/INPUT.md").read_text(encoding="utf-8")
GUIDE_FILES = {
    "Amazon ESCI \\(labels\\)": "examples.parquet",
    "NTCIR \\(levels\\)": "topics.qrels",
    "WANDS": "label.csv",
}
#: By tool of the guide, the file that it writes of these queries, documents and labels.
WRITTEN = {
    "Amazon ESCI \\(labels\\)": lambda rows: pd.DataFrame(
        [(at, "a tv", query, doc, "us", label) for at, (query, doc, label) in enumerate(rows)],
        columns=["example_id", "query", "query_id", "product_id", "product_locale", "esci_label"],
    ).to_dict("list"),
    "NTCIR \\(levels\\)": lambda rows: "".join(
        f"{query} {doc} {label}\n" for query, doc, label in rows
    ),
    "WANDS": lambda rows: pd.DataFrame(
        [(at, query, doc, label) for at, (query, doc, label) in enumerate(rows)],
        columns=["id", "query_id", "product_id", "label"],
    ).to_csv(index=False, sep="\t"),
}


@pytest.mark.embedded
@pytest.mark.parametrize("tool", WRITTEN)
def test_the_command_of_the_guide_reads_what_a_tool_writes(tmp_path, tool):
    (command,) = re.findall(rf"^\| {tool} \|.*\| `([^`]*)` \|$", GUIDE, re.MULTILINE)
    asked = command.split()
    path = GUIDE_FILES[tool]
    grades = dict(re.findall(r"([A-Za-z0-9]+)=(\d)\b", asked[-1]))
    # The best label has the place of E, and so on.
    names = dict(zip("ESCI", sorted(grades, key=grades.get, reverse=True), strict=False))
    rows_of = [(query, doc, names.get(label, names["C"])) for query, doc, label in JUDGED]
    written(tmp_path / path, WRITTEN[tool](rows_of))
    made = settings(tmp_path, CSV)
    words = [path, *made.results.path, *asked, "--cutoffs", 10, "--format", "json"]
    done = command_line("evaluate", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    numbers: dict[str, dict[str, int]] = {}
    for query, doc, label in rows_of:
        numbers.setdefault(query, {})[doc] = int(grades[label])
    expected = evaluate(numbers, RANKED, 10).dataset_scores["ndcg"].tolist()
    assert [json.loads(done.stdout)["dataset_scores"][0]["ndcg"]] == pytest.approx(expected)
