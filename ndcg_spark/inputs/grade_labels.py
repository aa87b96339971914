"""Labels in place of grades, such as E, S, C and I: the user gives each its grade."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ndcg_spark.text import label_text

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Labels:
    """The grade of each label. What is not among them has none, even if it is a number."""

    grades: Mapping[str, float]

    @property
    def numbers(self) -> dict[float, float]:
        """The grades of the labels that are numbers, for columns of numbers: 1 is 1.0 there."""
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
        """The grade of a value as it is stored; None if it has none."""
        if isinstance(value, str | bool):
            return self.grades.get(label_text(value))
        if value is None or math.isnan(value):
            return None
        return self.numbers.get(float(value))
