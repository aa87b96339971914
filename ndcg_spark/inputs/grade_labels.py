"""The grades of labels, such as E, S, C and I, which the user gives."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ndcg_spark.text import PLAIN_NUMBER, label_text


@dataclass(frozen=True)
class Labels:
    """The grade of each label. Any other value has no grade, even if it is a number."""

    grades: Mapping[str, float]

    @property
    def numbers(self) -> dict[float, float]:
        """The grades of labels that are numbers, by their value: {1.0: 3} for the label "1"."""
        found = {}
        for label, grade in self.grades.items():
            if re.fullmatch(PLAIN_NUMBER, label):
                found[float(label)] = grade
        return found

    @property
    def note(self) -> str:
        """The grades in words, such as "labels are grades: E is 3, I is 0"."""
        pairs = ", ".join(f"{label} is {grade:g}" for label, grade in self.grades.items())
        return f"labels are grades: {pairs}"

    def grade_of(self, value: Any) -> float | None:
        """Return the grade of a stored value, or None if it has no grade."""
        if isinstance(value, str | bool):
            return self.grades.get(label_text(value))
        if value is None or math.isnan(value):
            return None
        # In a column of numbers, 1 and 1.0 are the same label.
        return self.numbers.get(float(value))
