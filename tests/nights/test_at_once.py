"""Two evaluations of one night at the same moment: both are whole, one counts, and the other says so."""

import datetime
import json
import random

import pytest
from changes import failing
from publish_and_die import EVALUATED_ON, NEW, NEXT, OLD, WEB, ended, publish, record, staged, start, whole
from readers import counting, files, seen

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.records import accept, committed


def asleep(number, meanwhile):
    """Before this change, all of something else happens."""
    awake = [True]

    def fails(tried, change):
        if awake[0] and tried == number and not change:
            awake[0] = False
            meanwhile()
        # What others do meanwhile is not counted.
        return False

    return fails


@pytest.mark.parametrize(("first", "meanwhile"), [(OLD, NEW), (NEW, OLD)])
def test_whatever_happens_during_a_commit_one_whole_night_counts_and_who_lost_says_so(
    tmp_path, numbers, first, meanwhile
):
    lost, happened = 0, [True]
    for number in numbers:
        output, happened = str(tmp_path / str(number)), []
        publish(output, "0", 0.1, rejected=True)
        publication = staged(output, first, 0.7, rejected=True)

        def other(output=output, happened=happened):
            happened.append(first in counting(output))
            assert publish(output, meanwhile, 0.5) == []

        told, _ = failing(publication.commit, record(formula="0.7"), fails=asleep(number, other))
        lost += bool(told)
        # The other counts if it came later, or at the same moment with the greater id.
        nights = {first: whole(0.7, first, rejected=True), meanwhile: whole(0.5, meanwhile)}
        counts = meanwhile if told or happened == [True] else first
        assert seen(output) == {WEB: nights[counts]}, number
        sentence = f"web of 2026-11-16: {meanwhile}, which was published at the same time, counts"
        assert told in ([], [sentence]), number
        assert all(counts in path for path in files(output)), number
        if not happened:
            break
    # Between the listing and the record the greater id wins.
    assert (lost > 0) == (meanwhile > first)
    assert number > 20


def test_equal_numbers_are_decided_by_the_id(tmp_path, monkeypatch):
    output = str(tmp_path)
    for evaluation, ndcg in ((NEXT, 0.5), (OLD, 0.1), (NEW, 0.7)):
        # As if all had listed the records before the first was written.
        publication = staged(output, evaluation, ndcg)
        with monkeypatch.context() as patch:
            patch.setattr("ndcg_spark.nights.publication.remove_superseded", lambda records: records[-1].evaluation_id)
            patch.setattr("ndcg_spark.nights.records.all_records", lambda *_: [])
            publication.commit(record(formula=f"{ndcg}"))
        assert seen(output) == {WEB: whole(0.5, NEXT)}
    assert len({path for path in files(output) if path.startswith("_evaluations")}) == 3


@pytest.mark.slow
def test_of_two_processes_that_publish_a_night_at_once_one_counts_and_the_other_knows(tmp_path, thorough):
    rng = random.Random(7)  # noqa: S311  # no secret
    for number in range(50 if thorough else 4):
        output, names = str(tmp_path / "scores"), [f"{number:03}-{letter}" for letter in "ab"]
        both = [
            start(publish, output, name, 0.5, slow=rng.randrange(10**6), rejected=True, note=str(tmp_path / name))
            for name in names
        ]
        with ended(*both):
            pass
        assert [process.exitcode for process in both] == [0, 0]
        (counts,) = counting(output)
        assert counts in names
        assert seen(output) == {WEB: whole(0.5, counts, rejected=True)}
        assert all(counts in path for path in files(output)), number
        told = {name: json.loads((tmp_path / name).read_text()) for name in names}
        # Who was done before the other began to write its record has nothing to say.
        assert told[counts] == []
        assert all(counts in sentence for name in names for sentence in told[name])


def test_four_nights_of_different_dates_and_datasets_at_once_all_count(tmp_path):
    output = str(tmp_path)
    places = [(dataset, EVALUATED_ON + datetime.timedelta(days=day)) for dataset in ("web", "shop") for day in range(2)]
    all_at_once = [
        start(publish, output, f"{n}", 0.5, slow=n, dataset=dataset, evaluated_on=day)
        for n, (dataset, day) in enumerate(places)
    ]
    with ended(*all_at_once):
        pass
    assert seen(output) == {(name, f"{day}"): whole(0.5, f"{n}") for n, (name, day) in enumerate(places)}


@pytest.mark.parametrize("other", [OLD, NEXT])
def test_a_night_that_is_evaluated_again_while_it_is_accepted_is_whole(tmp_path, numbers, other):
    replaced = 0
    for number in numbers:
        output, happened = str(tmp_path / str(number)), []
        publish(output, NEW, 0.7)
        (night,) = committed(output)

        def again(output=output, happened=happened):
            happened.append(True)
            publish(output, other, 0.5)

        try:
            failing(accept, night, "known", fails=asleep(number, again))
        except StorageError:
            replaced += 1
        assert seen(output) in ({WEB: whole(0.7, NEW)}, {WEB: whole(0.5, other)}), number
        if not happened:
            break
    assert replaced > 0
    assert committed(output)[0].record["accepted"]["reason"] == "known"


def test_a_rerun_counts_though_the_clock_was_set_back(tmp_path):
    publish(str(tmp_path), NEXT, 0.5)
    assert publish(str(tmp_path), OLD, 0.1) == []
    assert seen(tmp_path) == {WEB: whole(0.1, OLD)}
