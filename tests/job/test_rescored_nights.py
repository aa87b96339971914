"""Copies: the scores of kept lists under other judgments are those of an evaluation of the original results."""

import math
import shlex
import zlib
from pathlib import Path
from unittest import mock

import pytest
from evaluations import evaluated
from rejudged import DATES, publish, random_case

from ndcg_spark.comparison.sources import NoCopyError, ScoreCache
from ndcg_spark.config import NightConfig, validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.explain_query import night_documents_to_judge
from ndcg_spark.job.rescore import make_copies, rescore
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import (
    OF_HIGHEST_GRADE,
    Copy,
    copy_path,
    judgments_path,
    kept_file,
    read_copy,
    rescore_command,
    why_not_rescored,
)
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows, read_scores

KEY = ("dataset", "run", "query_id", "cutoff")
MEASURES = [
    "ndcg@5",
    "P@3",
    "AP@5",
    "RR@5",
    "recall@3",
    "success@1",
    "RBP(p=0.5)@5",
    "ERR@5",
    "judged@3",
]
#: On classic Spark, by default: by scores with a query that is a document.
ON_SPARK = {"its query, capped"}
CONVENTIONS = {
    "standard": {},
    "trec_eval": {"preset": "trec_eval"},
    "its query": {"exclude_query_as_document": True, "missing_query": "skip"},
    "its query, capped": {"exclude_query_as_document": True, "ideal": "judged_capped"},
    "ranks": {"order": "rank", "discount": [1, 0.5, 0.25]},
    "ties of ranks": {"ties": "rank", "unjudged": 1.0, "no_relevant": "one", "max_grade": 4.0},
    "negative": {
        "negative": "keep",
        "gain": "linear",
        "no_relevant": "zero",
        "judgment_duplicates": "mean",
    },
    "as unjudged": {
        "negative": "as_unjudged",
        "gain": "binary",
        "no_relevant": "skip",
        "score_precision": "float32",
        "ties": "doc_id_num_asc",
    },
    "own gain": {
        "gain": "python:numpy.expm1",
        "discount": "python:numpy.reciprocal",
        "judgment_duplicates": "max",
        "relevant_from": 2.0,
        "max_grade": "highest_of_query",
    },
}
#: Of these, the lists of queries that are not judged are kept, too.
EVERYTHING = ("trec_eval", "its query")


def rows_of(table):
    return {tuple(row[name] for name in KEY): row for row in table.to_pylist()}


def without_measures(rows, names):
    for row in rows.values():
        row.update(dict.fromkeys(names))
    return rows


def assert_same(copy, expected):
    """The rows are equal, but for what only says which evaluation they are of."""
    assert copy.keys() == expected.keys()
    for key, row in expected.items():
        of_copy = copy[key]
        for column in row.keys() - {"evaluated_on", "evaluation_id"}:
            assert of_copy[column] == near(row[column]), (key, column)


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value


def published(folder, case, again, **more):
    """Both nights, and for some an evaluation of their results under the judgments of the other."""
    for night in (0, 1):
        output = publish(folder, case, night, night, **more)
    others = []
    # What is compared are scores alone.
    more["documents"] = None
    for night in again:
        more["output"] = str(folder / f"other-{night}")
        other = publish(folder, case, night, 1 - night, **more)
        others.extend(committed(other))
    return committed(output), others


def queries_of(judgments):
    return {(row["dataset"], row["query_id"]) for row in judgments}


def wanted_copies(nights):
    """Each of two nights under the judgments of the other."""
    prints = {
        (night.dataset, night.evaluated_on): night.row["judgments_fingerprint"] for night in nights
    }
    other = dict(zip(DATES, reversed(DATES), strict=True))
    return [Copy(night, prints[night.dataset, other[night.evaluated_on]]) for night in nights]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_copy_is_an_evaluation_of_the_original_results(tmp_path, engine, name, thorough):
    if engine.kind == "spark" and not thorough and name not in ON_SPARK:
        pytest.skip("takes a quarter of a minute on classic Spark; with --thorough")
    convention = {"order": "score", **CONVENTIONS[name]}
    grades = (-1.0, 0.0, 1.0, 3.0) if "negative" in convention else (0.0, 1.0, 2.0, 4.0)
    case = random_case(hash_of(name), grades, judged_again="judgment_duplicates" in convention)
    measures = ["ndcg@3"] if name == "ranks" else MEASURES
    documents = "everything" if name in EVERYTHING else "all"
    # The first or the last night, in turn.
    again = (0, 1) if thorough else ([*CONVENTIONS].index(name) % 2,)
    nights, others = published(
        tmp_path, case, again, convention=convention, measures=measures, documents=documents
    )
    judged = [queries_of(rows) for rows in case.judgments]
    dates = [DATES[night] for night in again]
    wanted = [copy for copy in wanted_copies(nights) if copy.night.evaluated_on in dates]
    assert make_copies(engine, wanted) == []
    compared = 0
    for night, fingerprint in wanted:
        (other,) = [
            one
            for one in others
            if (one.dataset, one.evaluated_on) == (night.dataset, night.evaluated_on)
        ]
        own = judged[DATES.index(night.evaluated_on)]
        expected = {
            key: row
            for key, row in rows_of(read_rows([other], "query_scores")).items()
            if (key[0], key[2]) in own or (name in EVERYTHING and row["returned"])
        }
        copy = rows_of(read_copy(night, fingerprint))
        if other.record["options"]["max_grade"] != night.record["options"]["max_grade"]:
            assert why_not_rescored(night, ("err", 5), fingerprint) is not None
            expected = without_measures(expected, OF_HIGHEST_GRADE)
        assert_same(copy, expected)
        compared += len(copy)
    # Cutoffs, runs, datasets, nights, and a third of the queries.
    assert compared > 3 * 2 * 2 * len(again) * 40 / 3


def hash_of(name):
    """A seed for a name, the same in every process."""
    return zlib.crc32(name.encode())


def gated(folder, lists, judged, case, **more):
    check = {"runs": ["s"], "cutoff": 3, "max_drop": 0.5}
    return publish(folder, case, lists, judged, documents=None, gate={"check": [check]}, **more)


def test_an_evaluation_with_a_gate_keeps_what_it_needs_and_makes_the_copies_before_the_verdict(
    tmp_path,
):
    case = random_case(3)
    accepted = {"accepted": "the first night"}
    output = gated(tmp_path, 0, 0, case, **accepted)
    first = {night.dataset: night for night in committed(output)}
    assert not list((tmp_path / "out").glob("rescored/*/*"))
    gated(tmp_path, 1, 1, case)
    nights = {(night.dataset, night.evaluated_on): night for night in committed(output)}
    for dataset, night in first.items():
        newer = nights[dataset, DATES[1]]
        theirs = newer.row["judgments_fingerprint"]
        assert night.record["configuration"]["documents"] == "all"
        assert read_copy(night, theirs) is not None
        assert read_copy(newer, night.row["judgments_fingerprint"]) is not None
    assert len(list((tmp_path / "out").glob("rescored/*/*"))) == 2 * 2
    assert len(list((tmp_path / "out").glob("kept_judgments/*"))) == 2 * 2


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory, engine):
    """An output with two nights of changed judgments, and no copies."""
    folder = tmp_path_factory.mktemp("two")
    case = random_case(5)
    for night in (0, 1):
        output = publish(folder, case, night, night)
    return folder, case, output


@pytest.mark.embedded
def test_nights_are_scored_by_hand_under_the_newest_judgments_that_are_kept(two_nights, engine):
    _, _, output = two_nights
    settings = validate({}, "test", NightConfig)
    first = [night for night in committed(output) if night.evaluated_on == DATES[0]]
    # The second nights of both datasets under the judgments of the first ones, and then these, too.
    assert rescore(engine, settings, output, since=DATES[1]) == (2, 0, [])
    assert rescore(engine, settings, output, dataset="web") == (1, 1, [])
    assert rescore(engine, settings, output) == (1, 3, [])
    newest = {night.dataset: night.row["judgments_fingerprint"] for night in committed(output)}
    assert all(read_copy(night, newest[night.dataset]) is not None for night in first)
    oldest = {night.dataset: night.row["judgments_fingerprint"] for night in first}
    last = [night for night in committed(output) if night.evaluated_on == DATES[1]]
    assert all(read_copy(night, oldest[night.dataset]) is not None for night in last)
    # A damaged copy is made again; one that cannot be made is refused in a sentence.
    (night, other) = first
    Path(output, copy_path(night, newest[night.dataset])).write_bytes(b"damaged")
    Path(output, copy_path(other, newest[other.dataset])).unlink()
    Path(output, judgments_path(other.dataset, newest[other.dataset])).write_bytes(b"damaged")
    made, kept, refused = rescore(engine, settings, output)
    assert (made, kept, len(refused)) == (1, 2, 1)


@pytest.mark.embedded
def test_the_command_that_an_error_names_makes_the_copy(tmp_path, engine):
    case = random_case(5)
    case.judgments = [*case.judgments, case.judgments[0][1:-1]]
    for lists, judged, date in ((0, 0, "20"), (1, 1, "21"), (0, 2, "22"), (1, 2, "23")):
        output = publish(tmp_path, case, lists, judged, date=f"2026-11-{date}")
    nights = [night for night in committed(output) if night.dataset == "web"]
    fingerprints = {night.row["judgments_fingerprint"] for night in nights}
    assert len(fingerprints) == 3
    for night in nights:
        for judgments in fingerprints - {night.row["judgments_fingerprint"]}:
            if read_copy(night, judgments) is not None:
                continue
            words = shlex.split(rescore_command(night, judgments))
            with mock.patch("ndcg_spark.nights.copies.committed", wraps=committed) as reads_log:
                with pytest.raises(NoCopyError) as refused:
                    ScoreCache().matrix(night, ("ndcg", 3), judgments=judgments)
                # Most callers do not show the command.
                reads_log.assert_not_called()
            assert str(refused.value).endswith(shlex.join(words))
            options = dict(zip(words[3::2], words[4::2], strict=True))
            given = {"judgments": options["--judgments"]} if options else {}
            settings = validate(given, "test", NightConfig)
            rescore(engine, settings, words[2], dataset=options.get("--dataset"))
            assert read_copy(night, judgments) is not None


@pytest.mark.embedded
@pytest.mark.parametrize(
    "more",
    [{"relevance": 1}, {"grades": {"bad": 0}}, {"columns": {"relevance": "label"}}, {"as_of": 3}],
    ids=str,
)
def test_no_option_is_ignored_where_the_judgments_are_kept(two_nights, engine, more):
    _, _, output = two_nights
    night = committed(output)[0]
    path = kept_file(night, night.row["judgments_fingerprint"])
    settings = validate({"judgments": {"path": path, **more}}, "test", NightConfig)
    with pytest.raises(ConfigurationError) as refused:
        rescore(engine, settings, output)
    assert refused.value.option == next(iter(more)).replace("columns", "column")


@pytest.mark.embedded
def test_scores_are_read_under_the_newest_judgments(two_nights, engine, caplog):
    folder, _, output = two_nights
    settings = validate({"judgments": str(folder / "judgments-1-1.parquet")}, "test", NightConfig)
    rescore(engine, settings, output)
    scores = read_scores(output, "query_scores", judgments="newest")
    nights = {(night.dataset, night.evaluated_on): night for night in committed(output)}
    newest = {
        dataset: nights[dataset, DATES[1]].row["judgments_fingerprint"]
        for dataset in ("shop", "web")
    }
    copies = {dataset: read_copy(nights[dataset, DATES[0]], newest[dataset]) for dataset in newest}
    old = scores[scores["evaluated_on"].astype(str) == DATES[0]]
    assert len(old) == sum(map(len, copies.values()))
    new = scores[scores["evaluated_on"].astype(str) == DATES[1]]
    assert len(new) == len(read_scores(output, "query_scores", date=DATES[1]))
    # The mean of a copy is that of its rows, and of published rows what was published.
    means = read_scores(output, judgments="newest")
    for row in means[means["evaluated_on"].astype(str) == DATES[0]].to_dict("records"):
        own = old[
            (old["dataset"] == row["dataset"])
            & (old["run"] == row["run"])
            & (old["cutoff"] == row["cutoff"])
        ]
        assert (row["ndcg"], row["queries"]) == (
            pytest.approx(own["ndcg"].mean()),
            own["ndcg"].count(),
        )
    published = read_scores(output, date=DATES[1])
    assert len(means[means["evaluated_on"].astype(str) == DATES[1]]) == len(published)
    # A night without a copy is left out, and a warning says so.
    Path(output, copy_path(nights["web", DATES[0]], newest["web"])).unlink()
    caplog.clear()
    left = read_scores(output, judgments="newest")
    assert {(row.dataset, str(row.evaluated_on)[:10]) for row in left.itertuples()} == {*nights} - {
        ("web", DATES[0])
    }
    assert len(caplog.records) == 1


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("table", "judgments"), [("comparisons", "newest"), ("query_scores", "oldest")]
)
def test_only_scores_are_read_under_the_newest_judgments(two_nights, table, judgments):
    with pytest.raises(ConfigurationError):
        read_scores(two_nights[2], table, judgments=judgments)


@pytest.mark.embedded
def test_a_list_that_cannot_be_scored_is_no_reason_to_fail_where_everything_is_kept(
    configured, engine
):
    # Nobody judges q2, whose list has a document twice.
    rows = [
        ("q1", "a", 1),
        ("q2", "b", 1),
        ("q2", "b", 2),
        ("q3", "c", 1),
        ("q3", "d", 2),
        ("q3", "e", 3),
    ]
    lists = "".join(f"{query} Q0 {doc} {rank} {-rank} r\n" for query, doc, rank in rows)
    files = {"qrels.txt": "q1 0 a 2\n", "run.txt": lists}
    evaluated(configured(files, output="out", documents="everything", cutoffs=[2]))
    (night,) = committed("out")
    kept = read_rows([night], "ranked_documents").to_pylist()
    found = sorted((row["run"] or "", row["query_id"], row["doc_id"], row["gain"]) for row in kept)
    assert found == [
        ("", "q1", "a", 2**2 - 1),
        ("r", "q1", "a", 2**2 - 1),
        ("r", "q3", "c", 0),
        ("r", "q3", "d", 0),
    ]
    assert {row["relevance"] for row in kept if row["query_id"] == "q3"} == {None}
    # Only documents of judged queries are to be judged next.
    assert night_documents_to_judge("out", 10) == []


@pytest.mark.embedded
def test_a_failure_of_copies_is_a_warning_and_no_failure_of_the_night(
    tmp_path, engine, monkeypatch, caplog
):
    case = random_case(4)
    output = gated(tmp_path, 0, 0, case, accepted="the first night")
    monkeypatch.setattr(
        "ndcg_spark.job.rescore.keep_copy", mock.Mock(side_effect=OSError("no space"))
    )
    gated(tmp_path, 1, 1, case)
    assert len(committed(output)) == 4
    told = [entry.getMessage() for entry in caplog.records if "no space" in entry.getMessage()]
    # One warning about two datasets, each with two nights.
    assert len(told) == 1
    assert not list((tmp_path / "out").glob("rescored/*/*"))


@pytest.mark.embedded
def test_a_query_that_nobody_had_judged_is_no_missing_one_where_that_is_an_error(
    configured, engine
):
    convention = {"missing_query": "error", "no_relevant": "error"}
    run = "q1 Q0 a 1 3.0 r\nq1 Q0 b 2 2.0 r\n"
    files = {"qrels.txt": "q1 0 a 2\n", "other.txt": "q1 0 b 1\nq2 0 c 1\n", "run.txt": run}
    evaluated(configured(files, output="out", documents="all", cutoffs=[2], convention=convention))
    other = validate({"judgments": "other.txt"}, "test", NightConfig)
    assert rescore(engine, other, "out") == (1, 0, [])
    (copy,) = Path("out").glob("rescored/*/*.parquet")
    (night,) = committed("out")
    rows = read_copy(night, copy.name.split(".")[1]).to_pylist()
    assert [(row["query_id"], row["ndcg"]) for row in rows] == [
        ("q1", pytest.approx(1 / math.log2(3)))
    ]


@pytest.mark.embedded
def test_a_kill_before_the_commit_leaves_what_is_published_as_it_was(tmp_path, engine, monkeypatch):
    case = random_case(6)
    output = gated(tmp_path, 0, 0, case, accepted="the first night")
    before = {night: read_rows([night], "query_scores") for night in committed(output)}
    with monkeypatch.context() as killed:
        killed.setattr(Publication, "commit", mock.Mock(side_effect=KeyboardInterrupt))
        killed.setattr(Publication, "abandon", mock.Mock())
        with pytest.raises(KeyboardInterrupt):
            gated(tmp_path, 1, 1, case)
    assert {night: read_rows([night], "query_scores") for night in committed(output)} == before
    # Two datasets, with both sides of the change each.
    orphans = {*(tmp_path / "out").glob("rescored/*/*")}
    assert len(orphans) == 2 * 2
    gated(tmp_path, 1, 1, case)
    nights = committed(output)
    assert make_copies(engine, wanted_copies(nights)) == []
    # Those of the first night were there, those of the second are of another evaluation.
    assert len({*(tmp_path / "out").glob("rescored/*/*")} - orphans) == 2
    assert {
        night: read_rows([night], "query_scores") for night in nights if night in before
    } == before
