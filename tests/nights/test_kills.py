"""Evaluations that are killed or run side by side, and readers beside them."""

import contextlib
import itertools
import json
import os
import random
import re
import time
from pathlib import Path
from unittest import mock

import duckdb
import pytest
from kept_nights import DATE, SHOP, WEB, date, publish, record, seen, whole, written
from pages import RECIPES
from programs import PROCESSES

from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.errors import StorageError
from ndcg_spark.nights import expire
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.reader import ReplacedError
from ndcg_spark.nights.store import LOG, Store

#: The views of the guide in DuckDB, which come first there.
VIEWS = re.search(r"```sql\n(.*?)```", RECIPES.read_text(encoding="utf-8"), re.DOTALL)[1]


def by_duckdb(output):
    """What `seen` finds, by the views of the guide."""
    shown = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(VIEWS.replace("OUTPUT", output))
        rows = connection.execute(
            "select dataset, evaluated_on, evaluation_id, ndcg from scores"
        ).fetchall()
    for dataset, day, *row in rows:
        shown.setdefault((dataset, str(day)), []).append((*row,))
    return {night: tuple(sorted(rows)) for night, rows in shown.items()}


def ndcg_from(evaluation_id):
    return int(evaluation_id.split("-")[1]) / 1e6


def is_whole(shown):
    """Whether the rows of every night are those of one evaluation."""
    return all(rows and rows == whole(ndcg_from(rows[0][0]), rows[0][0]) for rows in shown.values())


def work(output, told, seed, environment, waste_after, begun):
    """Publish, note, accept and remove without end; say in the file `told` what is done."""
    os.environ.update(environment)
    committed(output)
    begun.set()
    rng = random.Random(seed)  # noqa: S311  # no secret
    # What nobody writes any more has no row for long; what is superseded stays a moment for readers.
    expire.SECONDS_SUPERSEDED, expire.SECONDS_WITHOUT_ROW = 0.3, waste_after
    with Path(told).open("a", encoding="utf-8", buffering=1) as file:
        for number in itertools.count():
            name = f"e-{rng.randrange(1, 10**6)}-{seed}-{number}"
            datasets = [["web"], ["shop"], ["web", "shop"]][number % 3]
            publish(output, name, ndcg_from(name), datasets=datasets, verdict="fail")
            file.write(json.dumps([name, "published"]) + "\n")
            if number % 4 == 3:
                publish(output, f"{name}-old", ndcg_from(name), datasets=datasets, date=date(0))
                expire.remove(
                    output,
                    expire.removable(output, before=date(9), baselines=True, needed=needed_dates)[
                        0
                    ],
                )
            for column in ("note", "accepted"):
                with contextlib.suppress(StorageError):
                    night = rng.choice(committed(output, [DATE]))
                    revise(night, **{column: f"{column} {name}"})
                    file.write(json.dumps([night.evaluation_id, f"{column} {name}"]) + "\n")


def started(function, *arguments):
    process = PROCESSES.Process(target=function, args=arguments)
    process.start()
    return process


def refuse_loss(output, told):
    """Nothing that was acknowledged is lost: evaluations are in the log, notes and acceptances with theirs."""
    known = {
        (row["evaluation_id"], row[name])
        for row in committed(output).rows
        for name in ("note", "accepted", "status")
    }
    lines = told.read_text(encoding="utf-8").splitlines(keepends=True)
    assert {tuple(json.loads(line)) for line in lines if line.endswith("\n")} <= known


def read_for(output, seconds):
    """Read every 50 ms for a while; a night that is replaced meanwhile is read again."""
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(ReplacedError):
            assert is_whole(seen(output))
        if "://" not in output:
            # A file that is removed after it was listed is another answer.
            with contextlib.suppress(duckdb.IOException):
                assert is_whole(by_duckdb(output))
        if time.monotonic() > until:
            return
        time.sleep(0.05)


@pytest.mark.slow
def test_kills_at_any_moment_leave_every_night_whole_and_lose_nothing(output, tmp_path, thorough):
    rng, told = random.Random(7), tmp_path / "told"  # noqa: S311  # no secret
    on_disk = "://" not in output
    told.touch()
    publish(output, "e-1", ndcg_from("e-1"), datasets=["web", "shop"])
    few, many = 5, (200 if on_disk else 50)
    for kill in range(many if thorough else few):
        begun = PROCESSES.Event()
        process = started(work, output, str(told), kill, {**os.environ}, 0.3, begun)
        begun.wait(60)
        read_for(output, rng.random() * (0.3 if on_disk else 3))
        process.kill()
        process.join()
        shown = seen(output)
        assert is_whole(shown)
        refuse_loss(output, told)
        assert not on_disk or by_duckdb(output) == shown
    assert {WEB, SHOP} <= {*seen(output)}
    assert told.stat().st_size
    counting = {night.evaluation_id for night in committed(output)}
    with mock.patch.multiple(expire, SECONDS_SUPERSEDED=-9.0, SECONDS_WITHOUT_ROW=-9.0):
        expire.remove(output, expire.leftovers(output))
    assert {
        path.split("=")[2].split("/")[0] for path in Store(output).files("query_scores")
    } == counting
    assert {is_whole(seen(output)), is_whole(seen(output, "dataset_scores"))} == {True}


@pytest.mark.slow
def test_four_evaluations_at_once_lose_nothing(tmp_path, thorough):
    output = str(tmp_path / "out")
    told = {tmp_path / f"told{number}": PROCESSES.Event() for number in range(4)}
    processes = []
    for number, (file, begun) in enumerate(told.items()):
        file.touch()
        given = (output, str(file), 100 + number, {**os.environ}, 3600.0, begun)
        processes.append(started(work, *given))
    try:
        for begun in told.values():
            begun.wait(60)
        read_for(output, 30 if thorough else 1.5)
    finally:
        for process in processes:
            process.kill()
            process.join()
    assert {process.exitcode for process in processes} == {-9}
    for file in told:
        refuse_loss(output, file)
    assert by_duckdb(output) == seen(output)


def publish_together(output, name, barrier, told):
    night = written(output, name, ndcg_from(name), datasets=["web", "shop"])
    barrier.wait(30)
    told.put(night.commit(record(), {"web": {}, "shop": {}}))


@pytest.mark.slow
def test_of_two_evaluations_at_the_same_moment_one_counts_and_both_are_whole(tmp_path, thorough):
    for number in range(50 if thorough else 3):
        output, barrier, told = str(tmp_path / f"{number}"), PROCESSES.Barrier(2), PROCESSES.Queue()
        both = [started(publish_together, output, f"e-{n + 5}", barrier, told) for n in range(2)]
        sentences = [told.get(timeout=30) for _ in both]
        for process in both:
            process.join()
        shown = seen(output)
        assert is_whole(shown)
        assert [{*shown}, len({row[0] for rows in shown.values() for row in rows})] == [
            {WEB, SHOP},
            1,
        ]
        assert len(Store(output).files("query_scores")) == 2
        # Whoever does not count is told, unless the other was added even later.
        assert sum(map(bool, sentences)) <= 1


@pytest.mark.parametrize("broken", ["query_scores", LOG])
def test_a_file_that_is_half_written_is_met_by_no_glob(tmp_path, broken):
    output = str(tmp_path)
    publish(output, "e-1", ndcg_from("e-1"), datasets=["web", "shop"])
    publish(output, "e-2", ndcg_from("e-2"))
    revise(committed(output)[0], accepted="why")
    folder = next((tmp_path / broken).rglob("*.parquet")).parent
    for name in ("x.parquet#1", ".x.part", "_temporary/0/x.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"PAR1")
    assert seen(output) == by_duckdb(output) == {WEB: whole(2e-6, "e-2"), SHOP: whole(1e-6, "e-1")}
