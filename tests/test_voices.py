"""One error names an option on the command line, an argument in Python and a key in a configuration."""

import contextlib
import dataclasses
import pickle
import re

import pytest
from commands import command_line

from ndcg_spark import errors, evaluate
from ndcg_spark.errors import (
    ConfigurationError,
    EngineError,
    InputError,
    MissingInputError,
    NdcgSparkError,
    ReadError,
    StorageError,
    UnreachableError,
    about,
    within,
)
from ndcg_spark.voices import (
    ARGUMENTS,
    KEYS,
    OPTIONS,
    Advice,
    AllowRejected,
    ChooseColumn,
    ColumnIs,
    Convert,
    Do,
    Either,
    Give,
    GiveBaseline,
    GiveFormat,
    GiveGrades,
    GiveTable,
    NameColumn,
    NameColumns,
    NameGrades,
    NameInOneTable,
    NameRunColumn,
    NameRuns,
    Notice,
    NumberColumns,
    RankAndScore,
    RunsFromFiles,
    SeparateRuns,
    SetOption,
    SplitIds,
    WriteIds,
)
from ndcg_spark.voices import (
    command_line as shell_line,
)

JUDGED = "q1 0 a 2\nq1 0 b 0\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\n"
OPTION = re.compile(r"(?<![\w-])--[a-z]")
KEY = re.compile(r"\b(judgments|results|exclude|convention)\.[a-z_]+|\b\w+ = |\[[a-z]+\]")

#: By what is wrong: the judgments' and the results' files, the options of `evaluate`, and a beginning of the
#: advice in words of Python.
REFUSED = {
    "judged twice": (
        {"j": JUDGED + "q1 0 a 1\n"},
        {},
        "keep one row each, or judgment_duplicates=max",
    ),
    "returned twice": (
        {"r": RUN + "q1 Q0 b 3 1 bm25\n"},
        {},
        "keep one row each, or duplicates=best",
    ),
    "twice in a run with a name": (
        {"r": RUN + "q1 Q0 b 3 1 bm25\n"},
        {"run": "x"},
        "if they are several runs, rename the column of runs to run",
    ),
    "no grades": (
        {"j.csv": "query_id,doc_id\nq1,a\n"},
        {},
        "rename the grade column to relevance",
    ),
    "results for judgments": (
        {"j.csv": "query_id,doc_id,run\nq1,a,x\n"},
        {},
        "give the judgments first; ",
    ),
    "no ids": ({"j.csv": "a,b\n1,2\n"}, {}, "rename its columns to query_id and doc_id"),
    "no scores": ({"r.csv": "query_id,doc_id\nq1,a\n"}, {}, "rename its columns to score or rank"),
    "two queries": (
        {"r.csv": "qid,topic,docno,score\n1,2,a,1\n"},
        {},
        "drop or rename all but one",
    ),
    "a rank or a score": ({"r": "q1 a 9.5\n"}, {}, "write it with column names"),
    "a time": ({"j": "1 31 4 881250949\n"}, {}, "write it with column names"),
    "names of columns": (
        {"j": "query_id doc_id\n1 31\n"},
        {},
        "use a file name that ends in tsv or csv",
    ),
    "too few fields": ({"r": "1 a\n"}, {}, "write it with column names"),
    "a grade that is none": ({"j": JUDGED + "q1 0 c x\n"}, {}, "correct them"),
    "a score with a comma": ({"r": RUN.replace("3.0", "3,0")}, {}, "write decimals with a point"),
    "a rank that is none": (
        {"r": RUN.replace(" 2 2.5", " x 2.5")},
        {},
        "name the columns rank and score",
    ),
    "rank 0": (
        {"r": RUN.replace(" 2 2.5", " 0 2.5")},
        {"convention": "standard ties=rank"},
        "number ranks from 1",
    ),
    "ranks twice": (
        {"r": RUN.replace(" 2 2.5", " 1 2.5")},
        {"convention": "standard order=rank"},
        "number each list",
    ),
    "no ranks": (
        {"r.csv": "query_id,doc_id,score\nq1,a,1\n"},
        {"convention": "standard ties=rank"},
        "rename its column to rank, or ties=doc_id_asc in convention",
    ),
    "ranks against scores": (
        {"r": RUN.replace(" 1 3.0", " 3 3.0").replace(" 2 2", " 1 2")},
        {},
        "say which one decides",
    ),
    "swapped": (
        {"r": "q1 Q0 a 9 1 x\nq1 Q0 b 8 2 x\nq1 Q0 c 7 3 x\n"},
        {},
        "name the columns rank and score",
    ),
    "a category": (
        {"r.csv": "query_id,doc_id,score,tag\nq1,a,2,x\nq1,b,1,y\n"},
        {},
        "if it names the runs, rename it to run, otherwise run='NAME'",
    ),
    "an argument of a measure": (
        {},
        {"measures": "nDCG(judged_only=True)@10"},
        "unjudged=drop in convention",
    ),
    "a grade of 0": ({}, {"relevance": 0}, "relevance: Input should be greater than 0"),
    "a run without a name": ({}, {"run": ""}, "run: String should have"),
}


def refused(folder, files, options):
    paths = {"j": "j", "r": "r"}
    for name, text in {"j": JUDGED, "r": RUN, **files}.items():
        (folder / name).write_text(text)
        paths[name[0]] = name
    with pytest.raises(NdcgSparkError) as raised:
        evaluate(folder / paths["j"], folder / paths["r"], 10, **options)
    return raised.value


@pytest.mark.parametrize("kind", REFUSED)
def test_python_names_arguments_a_configuration_keys_and_the_command_options(tmp_path, kind):
    files, options, words = REFUSED[kind]
    error = refused(tmp_path, files, options)
    assert str(error) == error.worded(ARGUMENTS)
    arguments, keys, named = (
        error.worded(voice).replace(str(tmp_path), "") for voice in (ARGUMENTS, KEYS, OPTIONS)
    )
    assert words in arguments
    assert not OPTION.search(arguments)
    assert not KEY.search(arguments)
    assert not OPTION.search(keys)
    if files:
        assert bool(OPTION.search(named)) == (named != keys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "or --set duplicates=best"),
        (["--config", "a.toml"], 'or convention.duplicates = "best"'),
    ],
)
def test_a_command_with_a_configuration_names_keys(tmp_path, options, said):
    (tmp_path / "j").write_text(JUDGED)
    (tmp_path / "r").write_text(RUN + "q1 Q0 b 3 1 bm25\n")
    (tmp_path / "a.toml").write_text("cutoffs = [3]\n")
    done = command_line("evaluate", "j", "r", *options, cwd=tmp_path)
    assert done.returncode == InputError.exit_code
    assert said in done.stderr


def raised(error, *contexts):
    """The error, raised within these contexts, the inner one first."""

    def fail():
        with contextlib.ExitStack() as stack:
            for context in reversed(contexts):
                stack.enter_context(context)
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    return caught.value


@pytest.mark.parametrize("kind", [InputError, MissingInputError, ReadError, UnreachableError])
def test_a_table_is_named_once_at_its_innermost_boundary(kind):
    error = raised(
        kind("no rows"), within("a.run"), about("results"), within("b.run"), about("judgments")
    )
    assert (error.table, error.sentence) == ("results", "results: a.run: no rows")
    assert raised(kind("no rows"), about("results", "a.run")).sentence == "results (a.run): no rows"
    assert raised(kind("no rows"), within(""), about("results")).sentence == "results: no rows"


@pytest.mark.parametrize("kind", [ConfigurationError, EngineError, StorageError])
def test_an_error_that_is_about_no_table_stays_as_it_is(kind):
    error = raised(kind("engine: it stopped"), within("a.run"), about("results"))
    assert (error.table, error.sentence) == ("", "engine: it stopped")


@pytest.mark.parametrize(
    "advice",
    [NameColumns(("doc_id",), may_be_numbers=True), ChooseColumn("doc_id", "docno"), Convert()],
)
def test_advice_gets_the_table_of_its_error(advice):
    for table, expected in (("results", "results"), ("exclude", "exclude"), ("query_scores", "")):
        error = raised(InputError("no column", advice), about(table))
        assert error.advice == dataclasses.replace(advice, table=expected)


#: One of every kind, and more of those whose words depend on what they know.
ADVICE = [
    Do(words="correct them"),
    Either((Give("run", "x", "results"), SetOption("order", "score"))),
    Give("run_from", "file", "results"),
    Give("output"),
    GiveTable("results"),
    GiveBaseline(),
    SetOption("duplicates", "best"),
    SetOption("order", "rank"),
    Either((SetOption("order", "rank"), SetOption("ties", "rank")), " "),
    AllowRejected(),
    NameColumn("results", "doc_id"),
    NameColumns(("doc_id", "score or rank"), may_be_numbers=True, table="results"),
    NameGrades(),
    GiveGrades(("E", "not relevant")),
    NameInOneTable(("query_id", "relevance", "score")),
    NameInOneTable(("query_id", "relevance", "score"), are_numbers=True),
    ColumnIs("results", "run", "tag"),
    ChooseColumn("doc_id", "docno", table="results"),
    NumberColumns("results", (("rank", 3), ("score", 4))),
    GiveFormat("results", "tsv or csv"),
    RankAndScore(),
    NameRuns("tag"),
    NameRunColumn(True),
    NameRunColumn(False),
    RunsFromFiles(3),
    SeparateRuns(True, False),
    SeparateRuns(False, True),
    SeparateRuns(False, False),
    SplitIds("blank"),
    WriteIds(),
    Convert("judgments"),
]


def test_every_kind_of_advice_is_tried():
    assert {type(advice) for advice in ADVICE} == set(Advice.__subclasses__())


@pytest.mark.parametrize("advice", ADVICE, ids=repr)
def test_advice_for_python_names_no_option_and_no_key(advice):
    """Sentences have none (test_layout), so no message has one, whoever raises it."""
    said = advice.text(ARGUMENTS)
    assert not OPTION.search(said)
    assert not KEY.search(said)


def test_an_option_has_three_names():
    advice = Either(
        (
            Give("run_from", "file", "results"),
            SetOption("order", "rank", words="else"),
            Give("output"),
        )
    )
    sentence = Notice("is unknown", advice, "baseline-date")
    assert [sentence.worded(voice) for voice in (OPTIONS, ARGUMENTS, KEYS)] == [
        "baseline-date: is unknown; --run-from file, or else --set order=rank, or --output",
        "baseline_date: is unknown; run_from='file', or else order=rank in convention as text, 'standard order=rank', "
        "or output",
        'baseline-date: is unknown; results.run_from = "file", or else convention.order = "rank", or output',
    ]


KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, NdcgSparkError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_another_process_keeps_its_advice(kind):
    error = kind("it is wrong", Give("run", "x"), "run")
    if kind is ConfigurationError:
        error.problems = [Notice("missing", Give("output"), "documents")]
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert [copy.worded(voice) for voice in (OPTIONS, KEYS)] == [
        error.worded(voice) for voice in (OPTIONS, KEYS)
    ]
    assert vars(copy) == vars(error)


def test_a_command_is_quoted_for_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"column": ["results.run=the run", "results.score=s"], "date": "2026-11-20"}
    asked = "--column 'results.run=the run' --column results.score=s --date 2026-11-20"
    # In another folder, a relative path would be another one.
    for given, shown in (
        ("out", f"{tmp_path}/out"),
        ("/out", "/out"),
        ("s3://b/out", "s3://b/out"),
    ):
        assert shell_line("explain", [given], options) == f"ndcg-spark explain {shown} {asked}"
