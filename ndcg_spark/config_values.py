"""What the settings of a gate share with the rest of the configuration."""

import datetime

from pydantic import BaseModel, ConfigDict

#: The word for the newest earlier night of the dataset that passed or that somebody accepted.
LAST_GOOD = "last_good"
#: The word for the mean of the newest earlier nights that were not found worse, as long as they are alike.
RECENT_GOOD = "recent_good"


class Strict(BaseModel):
    """Settings that refuse unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def date(given: object) -> datetime.date:
    """A date, also as YYYY-MM-DD; ValueError if it is none."""
    if isinstance(given, str):
        try:
            return datetime.date.fromisoformat(given)
        except ValueError:
            raise ValueError(f"{given!r} is not a date; write YYYY-MM-DD") from None
    if not isinstance(given, datetime.date):
        raise ValueError(f"{given!r} is not a date; write YYYY-MM-DD")
    return given


def night(given: object) -> object:
    """RECENT_GOOD, LAST_GOOD, a date, or None."""
    if given in (None, RECENT_GOOD, LAST_GOOD):
        return given
    try:
        return date(given)
    except ValueError:
        words = f"{RECENT_GOOD}, {LAST_GOOD}, or a date as YYYY-MM-DD"
        raise ValueError(f"{given!r} is not a night; write {words}") from None
