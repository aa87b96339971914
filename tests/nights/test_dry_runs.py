"""What would be removed is told, and nothing is changed."""

import datetime
import os
import time

from ndcg_spark.nights.committed import expire, would_expire
from ndcg_spark.nights.recovery import recover, would_recover

TODAY = datetime.date(2026, 11, 20)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def night(folder, date):
    for table in ("dataset_scores", "query_scores"):
        place = folder / table / "dataset=web" / f"evaluated_on={date}"
        place.mkdir(parents=True)
        (place / "part.parquet").touch()


def test_a_dry_run_names_the_nights_that_go_and_leaves_them(tmp_path):
    night(tmp_path, "2026-11-01")
    night(tmp_path, "2026-11-19")
    before = files(tmp_path)
    assert would_expire(str(tmp_path), 10, TODAY) == ["would remove web of 2026-11-01"]
    assert files(tmp_path) == before
    assert expire(str(tmp_path), 10, TODAY) == ["removed web of 2026-11-01"]
    assert would_expire(str(tmp_path), 10, TODAY) == []


def test_a_dry_run_names_what_a_dead_evaluation_has_left(tmp_path):
    left = tmp_path / "_staging" / "20200101T000000Z-00000000"
    left.mkdir(parents=True)
    # An hour ago: it is not just being made.
    os.utime(left, (time.time() - 3600,) * 2)
    assert would_recover(str(tmp_path)) == [f"would remove {left.name}, which had not committed"]
    assert left.exists()
    assert recover(str(tmp_path)) == [f"removed {left.name}, which had not committed"]
    assert would_recover(str(tmp_path)) == []


def test_an_output_that_does_not_exist_has_nothing_to_remove(tmp_path):
    assert would_expire(str(tmp_path / "none"), 0, TODAY) + would_recover(str(tmp_path / "none")) == []
