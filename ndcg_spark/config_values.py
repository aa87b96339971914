"""What the settings of a gate share with the rest of the configuration."""

import datetime

from pydantic import BaseModel, ConfigDict

#: The word for earlier nights in which every check measured something and none failed, or that somebody accepted.
GOOD = "good"


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
