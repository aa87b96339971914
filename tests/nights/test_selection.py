"""Which nights a command takes if no date is named, and what it says of the datasets that have none of that date."""

import pytest
from kept_nights import committed_night

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.selection import missing_datasets, select_nights


def nights(**dates):
    """The nights of each dataset, of November."""
    return [committed_night(name, f"2026-11-{day}", {}) for name, days in dates.items() for day in days]


NIGHTS = nights(shop=(18, 19, 20), web=(18, 19), new=(20,))


def test_the_newest_date_is_that_of_any_dataset_or_of_the_one_that_is_named():
    assert [night.dataset for night in select_nights(NIGHTS, "out")] == ["shop", "new"]
    assert [night.evaluated_on for night in select_nights(NIGHTS, "out", dataset="web")] == ["2026-11-19"]


def test_datasets_whose_last_night_is_older_are_named_with_its_date():
    assert missing_datasets(NIGHTS, "2026-11-20") == (
        "1 dataset(s) have no night of 2026-11-20 and are left out: web (its last is of 2026-11-19); name one with "
        "--dataset"
    )


@pytest.mark.parametrize(("date", "dataset"), [("2026-11-19", None), ("2026-11-20", "shop")])
def test_a_dataset_that_begins_later_or_another_than_the_one_that_is_named_is_not_left_out(date, dataset):
    assert missing_datasets(NIGHTS, date, dataset) is None


def test_of_many_datasets_some_are_named():
    many = nights(**{f"d{n:02}": (19,) for n in range(12)}, shop=(20,))
    assert missing_datasets(many, "2026-11-20").endswith(
        "d09 (its last is of 2026-11-19) and 2 more; name one with --dataset"
    )


def test_a_date_without_a_night_is_refused():
    with pytest.raises(ConfigurationError, match="there is no night of 2026-11-17; the newest is of 2026-11-20"):
        select_nights(NIGHTS, "out", "2026-11-17")
    with pytest.raises(ConfigurationError, match=r"date: '1\.11\.2026' is not a date; write YYYY-MM-DD"):
        select_nights(NIGHTS, "out", "1.11.2026")
    assert len(select_nights(NIGHTS, "out", "20261118")) == 2
