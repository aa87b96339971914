"""A measure that is null everywhere keeps its place, and is explained wherever it is shown."""

import pytest
from commands import command_line
from evaluations import evaluated
from sessions import on_spark

from ndcg_spark import evaluate
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import evaluated_metrics, read_dataset_scores

BELOW_ONE = {"qrels.txt": "q1 0 a 0.5\nq2 0 c 0.9\n"}
NOTHING = {"qrels.txt": "q1 0 a 0\nq2 0 c 0\n"}
ANOTHER_RUN = {"other.txt": "q1 Q0 b 1 3.0 other\nq2 Q0 c 1 2.0 other\n"}
MEASURES = "P@1 AP nDCG@1"
NO_GRADE = "no query in the mean has a document of grade {} or above ({})"
NO_GAIN = "no query in the mean has a document with a gain"
#: The grades, the measures and options; and the measures without a value, with the reason.
CASES = {
    "below the threshold": (
        BELOW_ONE,
        {"measures": MEASURES},
        "precision@1, ap@all",
        (1, "relevant_from"),
    ),
    "below another": (
        {},
        {"measures": "P(rel=3)@1 nDCG@1"},
        "precision@1",
        (3, "relevant_from"),
    ),
    "below the least": (
        {},
        {"measures": "P@1", "convention": {"min_relevance": 3}},
        "precision@1",
        (3, "min_relevance"),
    ),
    "nothing gains": (NOTHING, {}, "ndcg@1, ndcg@3", None),
    "all have values": (BELOW_ONE, {"measures": "P(rel=0.5)@1"}, None, None),
    "queries without gain score 0": (NOTHING, {"convention": "trec_eval"}, None, None),
}


def warned(told):
    return [words for step, words in told if step == "warning" and "no value" in words]


@pytest.mark.parametrize("case", on_spark(CASES, "below the threshold", "nothing gains"))
def test_a_warning_says_why_a_measure_has_no_value(session, configured, case):
    files, settings, named, grade = CASES[case]
    _, told = evaluated(configured(files, **settings))
    reason = NO_GAIN if grade is None else NO_GRADE.format(*grade)
    expected = f"measures: no value for {named}: {reason}; check the grades"
    assert warned(told) == ([] if named is None else [expected])


#: The words that a line of the only run begins with, by format: two measures without a value.
SHOWN = {
    "table": "bm25 - - 0.5000",
    "markdown": "| bm25 | - | - | 0.5000 |",
    "latex": r"bm25 & - & - & \textbf{0.5000}",
    "csv": "default,2026-11-20,bm25,1,,,0.5,,,",
}


def lines(text):
    """The lines, with one blank between words."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("style", SHOWN)
def test_a_measure_without_a_value_is_shown(configured, tmp_path, style):
    # NDCG is 1 in one of two queries.
    configured({"qrels.txt": "q1 0 a 0.5\nq2 0 c 0.9\n", "run.txt": "q1 Q0 a 1 3 bm25\n"})
    asked = ["qrels.txt", "run.txt", "--measures", MEASURES, "--date", "2026-11-20"]
    done = command_line("evaluate", *asked, "--format", style, cwd=tmp_path)
    assert [line for line in lines(done.stdout) if line.startswith(SHOWN[style])], done.stdout
    has_threshold = "documents with grade 1 or above are relevant" in done.stdout
    assert has_threshold == (style != "csv")


def test_python_shows_a_measure_without_a_value_and_warns():
    judged, returned = {"q1": {"a": 0.5}}, {"q1": {"a": 1.0}}
    with pytest.warns(UserWarning, match="no value for precision@1, ap@all: no query in the mean"):
        scores = evaluate(judged, returned, measures=MEASURES)
    assert scores.table().columns.tolist() == ["P@1", "AP", "ndcg@1"]
    assert str(scores).splitlines()[1].split() == ["run", "-", "-", "1.0000"]
    assert str(scores).endswith("; documents with grade 1 or above are relevant")


def test_spark_warns_of_a_measure_without_a_value(session):
    judged, returned = {"q1": {"a": 0.5}}, {"q1": {"a": 1.0}}
    with pytest.warns(UserWarning, match="no value for precision@1: no query in the mean"):
        evaluate(judged, returned, measures="P@1", session=session).to_pandas()


CHECKS = [
    {"measure": "precision", "cutoff": 1, "max_drop": 0.1},
    {"measure": "precision", "cutoff": 1, "min_value": 0.1},
]


@pytest.fixture
def nights(configured, tmp_path):
    """Two nights of two runs, whose first measure has no value."""
    for date in ("2026-11-19", "2026-11-20"):
        settings = configured(
            {**BELOW_ONE, **ANOTHER_RUN},
            results={"path": ["run.txt", "other.txt"]},
            measures="P@1 nDCG@1",
            output="out",
            date=date,
            gate={"check": CHECKS},
        )
        evaluated(settings)
    return tmp_path


def said_by(nights, *arguments):
    done = command_line(*arguments, cwd=nights)
    assert done.returncode == 0, done.stderr
    return done.stdout


def said_once(nights, *arguments):
    return " ".join(lines(said_by(nights, *arguments)))


def test_no_command_says_that_a_measure_without_a_value_was_not_evaluated(nights):
    trend = said_by(nights, "trend", "out")
    assert "precision@1 bm25 2 - - - no verdict" in lines(trend)
    reason = NO_GRADE.format(1, "relevant_from")
    told = "default: no value for precision@1 in 2 night(s), most recently on 2026-11-20"
    assert f"{told}: {reason}" in lines(trend)
    assert said_by(nights, "trend", "out", "--measures", "precision") == trend
    assert "precision@1 -" in said_once(nights, "nights", "out")
    compared = said_once(nights, "compare", "out", "--baseline", "bm25", "--measures", "P@1")
    assert "other - - - 0/0/0 not tested" in compared
    said_by(nights, "report", "out", "--html", "page.html")
    assert "precision@1" in (nights / "page.html").read_text(encoding="utf-8")


def test_the_gate_says_that_no_query_has_a_relevant_document(nights):
    newest = committed(str(nights / "out"))[-1]
    results = newest.record["verdict"]["results"]
    sentences = [row["sentence"] for row in results if row["reason"] == "not_measured"]
    why = "no query has a value, because none of the scored queries has a relevant document"
    assert sorted(sentences) == [f"precision@1 of {run}: {why}" for run in ("bm25", "other")]


def test_a_night_has_the_measures_that_were_asked_for_and_no_others(nights):
    newest = committed(str(nights / "out"))[-1]
    (rows,) = read_dataset_scores([newest])
    metrics = evaluated_metrics(newest, rows)
    assert {("precision", 1), ("ndcg", 1)} <= metrics
    assert "ap" not in {name for name, _ in metrics}


#: The grade of the only document, the settings, and what warnings say of it.
GRADED = [
    (0.9, {}, []),
    (0.9, {"convention": "trec_eval"}, ["trec_eval itself truncates"]),
    (0.9, {"convention": {"preset": "beir"}}, ["beir itself refuses"]),
    (-0.5, {"convention": "trec_eval"}, ["trec_eval itself truncates"]),
    (2, {"convention": "trec_eval"}, []),
    (1e300, {"convention": "trec_eval"}, ["typing error"]),
    (0.9, {"convention": {"preset": "trec_eval", "min_relevance": 0.5}}, []),
    (
        32,
        {"convention": {"preset": "xgboost", "ties": "doc_id_asc"}},
        ["refuses grades above 31", "typing error"],
    ),
    (0.5, {"convention": "trec_eval", "measures": "P@1"}, ["truncates", "no document is relevant"]),
]


@pytest.mark.parametrize(("grade", "settings", "said"), on_spark(GRADED, GRADED[1], GRADED[5]))
def test_grades_that_a_tool_does_not_take_are_a_warning(session, configured, grade, settings, said):
    # A relevant document beside it, but where none is to be.
    other = "" if "measures" in settings else "q1 0 b 1\n"
    files = {"qrels.txt": f"q1 0 a {grade!r}\n{other}"}
    _, told = evaluated(configured(files, **settings))
    warnings = [words for _, words in told if words.startswith("judgments:")]
    assert len(warnings) == len(said)
    for words, expected in zip(warnings, said, strict=True):
        assert expected in words


def test_python_warns_of_grades_that_a_tool_does_not_take():
    with pytest.warns(UserWarning, match=r"ir_measures itself refuses .* e\.g\. 0\.9"):
        evaluate({"q1": {"a": 0.9}}, {"q1": {"a": 1.0}}, convention="ir_measures")
