"""Text that is parsed only once gives what text gives that every plan parses anew."""

import dataclasses
import json

import kept_text
import pytest
from plain_cases import DAMAGED, PLAIN, ending
from programs import forked

from ndcg_spark.config import ResultsConfig
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.inputs import parsed_once
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.parsed_once import Text
from ndcg_spark.inputs.read import read_results


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """The outcomes of text that every plan parses and of text that is parsed once, on the embedded engine."""
    folder = tmp_path_factory.mktemp("embedded")
    # In the partitions of a user's engine, where sums are added in the same order both ways.
    done = forked(kept_text.on_embedded, str(folder), cwd=folder, SAIL_EXECUTION__DEFAULT_PARALLELISM="16")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_scores_counts_fingerprints_and_rejected_rows_are_the_same_on_the_embedded_engine(embedded):
    formats = embedded["formats"]
    assert formats.keys() == kept_text.UNCOMMON.keys()
    check_alike(formats)
    # Fingerprints do not depend on the format: the odd lines of TREC and CSV differ in one id only.
    assert len({outcomes[0]["fingerprints"][0] for outcomes in formats.values()}) == 1


def test_plain_and_odd_files_of_one_evaluation_give_the_same(embedded):
    anew, once = embedded["files"]
    assert once == anew
    assert {row["run"] for row in once["query_scores"]} >= PLAIN.keys()
    assert once["counts"]["rejected_results"] > 30


def test_a_damaged_file_among_plain_files_is_refused_in_the_same_words(embedded):
    assert embedded["refusals"].keys() == DAMAGED.keys()
    for name, (anew, once) in embedded["refusals"].items():
        assert once == anew
        assert ending(name) in once


def test_typed_rows_are_the_same_wherever_their_columns_come_from(embedded):
    for place, (by_engine, once) in embedded["rows"].items():
        assert (by_engine[0], once[0]) == (0, 0 if place == kept_text.SMALL else 1), place
        assert once[1:] == by_engine[1:], place
        assert len(once[2]) > 1, place


def test_bad_rows_are_looked_for_in_odd_files_alone_where_all_are_there(embedded):
    no_number, no_rank = "score_is_no_number", "rank_is_no_rank"
    assert embedded["bad rows"] == {
        "odd": [[[no_number, 1]], ["d3"]],
        "both": [[[no_number, 1], [no_rank, 1]], ["d1", "d3"]],
    }


def test_scores_counts_fingerprints_and_rejected_rows_of_text_parsed_once_on_classic_spark_are_the_same(
    engine, embedded, tmp_path
):
    own = dataclasses.replace(engine, scratch=Scratch())
    once = kept_text.parsed(own, kept_text.written(tmp_path, "trec"), tmp_path / "out", least=0)
    check_alike({"trec": (kept_text.rounded(embedded["formats"]["trec"][0]), kept_text.rounded(once))})


def check_alike(found):
    for kind, (anew, once) in found.items():
        assert once == anew, kind
        results = kept_text.QUERIES * (kept_text.DEEP - 1) + len(kept_text.UNCOMMON[kind])
        assert (once["counts"]["results"], once["counts"]["rejected_results"]) == (results, 2), kind
        # What was rejected is kept as it was written, not as it was typed.
        assert {"best", "high"} <= {text for row in once["rejected_rows"] for text in row.values()}, kind
        assert {row["run"] for row in once["query_scores"]} == {"a", "b"}


def test_small_text_and_what_is_on_a_server_is_not_kept(engine, tmp_path):
    large = Text(engine, "results", [File("a.run", parsed_once.LEAST_BYTES)], {}, lambda _: None)
    assert large.is_worth_keeping
    small = [File("a.run", parsed_once.LEAST_BYTES - 1)]
    assert not dataclasses.replace(large, files=small).is_worth_keeping
    assert not dataclasses.replace(large, engine=dataclasses.replace(engine, kind="connect")).is_worth_keeping


def test_what_was_kept_is_given_up_when_the_work_is_done(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(parsed_once, "LEAST_BYTES", 0)
    own = dataclasses.replace(engine, scratch=Scratch())
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 1.0 a\n", encoding="utf-8")
    source = read_results(own, ResultsConfig(path=[str(path)]), [str(path)])
    kept = source.text.kept(source.table, lambda table: table).rows
    assert kept.storageLevel.useDisk
    own.scratch.remove()
    assert not kept.storageLevel.useDisk
