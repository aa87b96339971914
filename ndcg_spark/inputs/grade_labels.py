"""Labels instead of grades, such as E, S, C and I. The user gives each label its grade."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ndcg_spark.text import label_text

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Labels:
    """The grade of each label. Any other value has no grade, even if it is a number."""

    grades: Mapping[str, float]

    @property
    def numbers(self) -> dict[float, float]:
        """The grades of numeric labels by their value, for number columns, where 1 is 1.0."""
        found = {}
        for label, grade in self.grades.items():
            if _NUMBER.fullmatch(label):
                found[float(label)] = grade
        return found

    @property
    def note(self) -> str:
        pairs = ", ".join(f"{label} is {grade:g}" for label, grade in self.grades.items())
        return f"labels are grades: {pairs}"

    def grade_of(self, value: Any) -> float | None:
        """Return the grade of a stored value, or None if it has no grade."""
        if isinstance(value, str | bool):
            return self.grades.get(label_text(value))
        if value is None or math.isnan(value):
            return None
        return self.numbers.get(float(value))
