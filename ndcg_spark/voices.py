"""What to do about an error or a doubt, as data, and how three voices word it.

The same mistake can be made on the command line, in Python or in a configuration. Its sentence is
the same and names no option. The advice is a value, and a voice words it: OPTIONS as options of a
command, ARGUMENTS as arguments of a function, KEYS as keys of a configuration.
"""

import abc
import dataclasses
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

#: The keys of a configuration that are not in any of its tables.
_TOP_KEYS = ("documents", "engine", "max_rejected_fraction", "output")
#: The tables whose columns can be mapped.
MAPPED = ("judgments", "results", "exclude", "items", "interactions")
#: The Python arguments for keys that have different names.
_OF_KEYS = {
    "judgments.relevance": "relevance",
    "judgments.grades": "grades",
    "results.run": "run",
}


class Voice(abc.ABC):
    """How options are named."""

    #: Whether advice may map columns of files; in Python, users rename a table's columns.
    maps_columns = True

    def named(self, option: str) -> str:
        """An option in the words of this voice, from its name on the command line or its key."""
        return option

    @abc.abstractmethod
    def setting(self, name: str, value: object = "", table: str = "") -> str:
        """An option by its name in Python; `table` is the table that contains its key, if any."""

    @abc.abstractmethod
    def convention(self, option: str, value: str) -> str:
        """An option of the convention."""

    @abc.abstractmethod
    def column(self, table: str, ours: str, theirs: str) -> str:
        """The setting that maps our column `ours` of a table to its column `theirs`."""


class _Options(Voice):
    def setting(self, name: str, value: object = "", table: str = "") -> str:
        option = f"--{name.replace('_', '-')}"
        return option if value == "" else f"{option} {shlex.quote(str(value))}"

    def convention(self, option: str, value: str) -> str:
        return self.setting("set", f"{option}={value}")

    def column(self, table: str, ours: str, theirs: str) -> str:
        prefix = f"{table}." if table else ""
        return self.setting("column", f"{prefix}{ours}={theirs}")


class _Arguments(Voice):
    maps_columns = False

    def named(self, option: str) -> str:
        if "." in option:
            return _OF_KEYS.get(option, option)
        return option.replace("-", "_")

    def setting(self, name: str, value: object = "", table: str = "") -> str:
        return name if value == "" else f"{name}={value!r}"

    def convention(self, option: str, value: str) -> str:
        if option == "order":
            # A Convention does not show whether its order was chosen, but a text does.
            return f"{option}={value} in convention as text, 'standard {option}={value}'"
        return f"{option}={value} in convention"

    def column(self, table: str, ours: str, theirs: str) -> str:
        return f"rename it to {ours}"


class _Keys(Voice):
    def setting(self, name: str, value: object = "", table: str = "") -> str:
        if not table and name not in _TOP_KEYS:
            # It has no key, because it says what to do with the configuration or with a night.
            return OPTIONS.setting(name, value)
        key = f"{table}.{name}" if table else name
        return key if value == "" else f"{key} = {json.dumps(value, ensure_ascii=False)}"

    def convention(self, option: str, value: str) -> str:
        return f"convention.{option} = {json.dumps(value)}"

    def column(self, table: str, ours: str, theirs: str) -> str:
        # [items.interactions] is inside [items].
        key = "items.interactions" if table == "interactions" else table
        prefix = f"{key}." if key else ""
        return f"{prefix}columns.{ours} = {json.dumps(theirs, ensure_ascii=False)}"


OPTIONS, ARGUMENTS, KEYS = _Options(), _Arguments(), _Keys()


def voice_of(file: str | None) -> Voice:
    """The voice for users with this configuration file, or without one."""
    return KEYS if file else OPTIONS


@dataclasses.dataclass(frozen=True)
class Advice(abc.ABC):
    """What to do about an error. Each kind of advice knows the facts that its wording needs."""

    #: Words before and after the advice, which are the same in every voice.
    words: str = dataclasses.field(default="", kw_only=True)
    then: str = dataclasses.field(default="", kw_only=True)

    @abc.abstractmethod
    def wording(self, voice: Voice) -> str:
        """What to do, in this voice; empty if the voice offers no way."""

    def about(self, table: str) -> "Advice":
        """The advice with the name of its table, which the code that raised it may not know."""
        return self

    def text(self, voice: Voice) -> str:
        """The wording with the words before and after it."""
        return " ".join(part for part in (self.words, self.wording(voice), self.then) if part)


def _if_mapped(table: str) -> str:
    """The table if its columns can be mapped, otherwise empty."""
    return table if table in MAPPED else ""


@dataclasses.dataclass(frozen=True)
class Notice:
    """A sentence, and what to do about it."""

    sentence: str
    advice: Advice | None = None
    #: The option that the sentence is about but does not name.
    option: str = ""
    #: The text before the option.
    before: str = ""

    def worded(self, voice: Voice) -> str:
        return f"{self.before}{worded(self.sentence, self.advice, voice, self.option)}"

    def __str__(self) -> str:
        return self.worded(ARGUMENTS)


def worded(sentence: str, advice: Advice | None, voice: Voice, option: str = "") -> str:
    """The option that a sentence is about, the sentence itself, and the advice."""
    text = f"{voice.named(option)}: {sentence}" if option else sentence
    what_to_do = advice.text(voice) if advice is not None else ""
    return f"{text}; {what_to_do}" if what_to_do else text


@dataclasses.dataclass(frozen=True)
class Do(Advice):
    """Advice that needs no option, only words."""

    def wording(self, voice: Voice) -> str:
        return ""


@dataclasses.dataclass(frozen=True)
class Either(Advice):
    """Several ways, one of which helps."""

    ways: tuple[Advice, ...]
    joint: str = ", or "

    def about(self, table: str) -> Advice:
        ways = tuple(way.about(table) for way in self.ways)
        return dataclasses.replace(self, ways=ways)

    def wording(self, voice: Voice) -> str:
        texts = [way.text(voice) for way in self.ways]
        return self.joint.join(text for text in texts if text)


@dataclasses.dataclass(frozen=True)
class Give(Advice):
    """Give, change or leave out an option.

    `table` is the table that contains it in a configuration, or empty.
    """

    option: str
    value: object = ""
    table: str = ""

    def wording(self, voice: Voice) -> str:
        return voice.setting(self.option, self.value, self.table)


@dataclasses.dataclass(frozen=True)
class GiveTable(Advice):
    """Give a table that a command needs."""

    table: str

    def wording(self, voice: Voice) -> str:
        if voice is OPTIONS:
            return f"give {voice.setting(self.table)} or [{self.table}]"
        if voice is KEYS:
            return f"give [{self.table}]"
        return f"give {self.table}"


@dataclasses.dataclass(frozen=True)
class SetOption(Advice):
    """Set an option of the convention."""

    option: str
    value: str

    def wording(self, voice: Voice) -> str:
        return voice.convention(self.option, self.value)


#: The advice for results that have neither scores nor ranks.
IN_ORDER = SetOption(
    "order", "file", words="if the rows of each query are in their order, best first,"
)


@dataclasses.dataclass(frozen=True)
class SplitIds(Advice):
    """Say which separator is between ids that share a cell."""

    separator: str
    table: str = "results"

    def about(self, table: str) -> Advice:
        return dataclasses.replace(self, table=_if_mapped(table))

    def wording(self, voice: Voice) -> str:
        if not voice.maps_columns:
            return f"split_ids={{{self.table!r}: {self.separator!r}}}"
        if voice is KEYS:
            return voice.setting("split_ids", self.separator, self.table)
        return voice.setting("split_ids", f"{self.table}={self.separator}")


@dataclasses.dataclass(frozen=True)
class NameColumns(Advice):
    """Name the columns of a table that are missing under our names; `a or b` needs only one."""

    columns: tuple[str, ...]
    #: Whether the first line of the text may be a row, so that its fields have only numbers.
    may_be_numbers: bool = False
    table: str = ""

    def about(self, table: str) -> Advice:
        return dataclasses.replace(self, table=_if_mapped(table))

    def wording(self, voice: Voice) -> str:
        if not voice.maps_columns:
            return f"rename its columns to {' and '.join(self.columns)}"
        ways = " ".join(self._mapped(column, voice) for column in self.columns)
        text = f"map them with {ways}"
        if voice is OPTIONS:
            first = self.columns[0].split(" or ")[0]
            text += f", or in the configuration {KEYS.column(self.table, first, 'NAME')}"
        if self.may_be_numbers:
            text += "; if the first line names no columns, NAME is the number of a field"
        return text

    def _mapped(self, column: str, voice: Voice) -> str:
        names = column.split(" or ")
        return " or ".join(voice.column(self.table, name, "NAME") for name in names)


@dataclasses.dataclass(frozen=True)
class NameInOneTable(Advice):
    """Name the columns of a table that has both judgments and results."""

    columns: tuple[str, ...]
    #: Whether its fields have only numbers.
    are_numbers: bool = False

    def wording(self, voice: Voice) -> str:
        if not voice.maps_columns:
            return f"rename its columns to {' and '.join(self.columns)}"
        ways = [self._mapped(column, voice) for column in self.columns]
        return f"map them with {' '.join(ways)}"

    def _mapped(self, column: str, voice: Voice) -> str:
        """The settings that map a column of ours, one for each table that has it."""
        tables = {"relevance": ["judgments"], "score": ["results"]}
        owners = tables.get(column, ["judgments", "results"])
        if voice is OPTIONS and len(owners) > 1:
            # Without a table, the option applies to both tables.
            owners = [""]
        name = str(self.columns.index(column) + 1) if self.are_numbers else "NAME"
        return " ".join(voice.column(owner, column, name) for owner in owners)


@dataclasses.dataclass(frozen=True)
class NameGrades(Advice):
    """Say which column has the grades, or give one grade to all judgments."""

    def wording(self, voice: Voice) -> str:
        grade = voice.setting("relevance", 1, "judgments")
        name = "rename the grade column to relevance"
        if voice.maps_columns:
            # Only judgments have grades, so the option does not need the table.
            table = "judgments" if voice is KEYS else ""
            column = voice.column(table, "relevance", "NAME")
            name = f"name the grade column with {column}"
        return f"{name}, or give all of them one grade with {grade}"


@dataclasses.dataclass(frozen=True)
class GiveGrades(Advice):
    """Give each of these labels its grade."""

    labels: tuple[str, ...]

    def wording(self, voice: Voice) -> str:
        if voice is OPTIONS:
            return voice.setting("grades", ",".join(f"{label}=GRADE" for label in self.labels))
        if voice is KEYS:
            pairs = ", ".join(f"{json.dumps(label)} = GRADE" for label in self.labels)
            return f"judgments.grades = {{{pairs}}}"
        pairs = ", ".join(f"{label!r}: GRADE" for label in self.labels)
        return f"grades={{{pairs}}}"


@dataclasses.dataclass(frozen=True)
class ColumnIs(Advice):
    """Map a column that was not recognised."""

    table: str
    column: str
    theirs: str

    def wording(self, voice: Voice) -> str:
        return voice.column(self.table, self.column, self.theirs)


@dataclasses.dataclass(frozen=True)
class ForFiles(Advice):
    """A way that only files have. Python users get other words, or none."""

    way: Advice
    in_python: str = ""

    def wording(self, voice: Voice) -> str:
        return self.way.text(voice) if voice.maps_columns else self.in_python


def name_column(table: str, column: str) -> Advice:
    """The advice to name the column of a table that is missing under our name."""
    way = ColumnIs(table, column, "NAME", words="name it with")
    return ForFiles(way, f"rename its column to {column}")


@dataclasses.dataclass(frozen=True)
class ChooseColumn(Advice):
    """Say which of several columns is meant, or leave only one."""

    column: str
    first: str
    table: str = ""

    def about(self, table: str) -> Advice:
        return dataclasses.replace(self, table=_if_mapped(table))

    def wording(self, voice: Voice) -> str:
        text = "drop or rename all but one"
        if voice.maps_columns:
            text += f", or choose one with {voice.column(self.table, self.column, self.first)}"
        return text


@dataclasses.dataclass(frozen=True)
class NumberColumns(Advice):
    """Say which field of a line is which column, by its number from 1."""

    table: str
    fields: tuple[tuple[str, int], ...]
    joint: str = " "

    def wording(self, voice: Voice) -> str:
        if not voice.maps_columns:
            return "write it with column names, such as CSV"
        mapped = [voice.column(self.table, column, str(number)) for column, number in self.fields]
        return f"write {self.joint.join(mapped)}"


@dataclasses.dataclass(frozen=True)
class GiveFormat(Advice):
    """Say which format the files of a table have."""

    table: str
    formats: str

    def wording(self, voice: Voice) -> str:
        if not voice.maps_columns:
            return f"use a file name that ends in {self.formats}"
        name = "format" if voice is KEYS else "input_format"
        return f"write {voice.setting(name, table=self.table)} {self.formats}"


@dataclasses.dataclass(frozen=True)
class SeparateRuns(Advice):
    """Give two runs that share a name different names."""

    is_run_given: bool
    are_files: bool

    def wording(self, voice: Voice) -> str:
        return f"if two runs share this name, {self._way(voice)}"

    def _way(self, voice: Voice) -> str:
        """How to give the runs different names."""
        if self.is_run_given:
            if voice.maps_columns:
                return f"leave {voice.setting('run', table='results')} out"
            return "name them in a column run"
        if self.are_files and voice.maps_columns:
            by_file = voice.setting("run_from", "file", "results")
            return f"give each its own name, such as {by_file}"
        return "give each its own name"


@dataclasses.dataclass(frozen=True)
class WriteIds(Advice):
    """Give columns the types that they need. In pandas, ids are often numbers with a fraction."""

    def wording(self, voice: Voice) -> str:
        ids = "ids are text or whole numbers"
        if voice is ARGUMENTS:
            ids += " (pandas makes them floats if one is missing; drop it and use astype;"
            ids += " UUIDs need astype(str))"
        return f"{ids}, relevance, score and rank are numbers"


@dataclasses.dataclass(frozen=True)
class Convert(Advice):
    """Write a table as Parquet where the engine can read it."""

    table: str = ""

    def about(self, table: str) -> Advice:
        return dataclasses.replace(self, table=_if_mapped(table))

    def wording(self, voice: Voice) -> str:
        text = "write them as Parquet where it can read them"
        if not voice.maps_columns:
            return text
        command = "ndcg-spark convert IN OUT"
        if self.table == "judgments":
            # Without this option, the command reads results.
            command += f" {OPTIONS.setting('input', self.table)}"
        return f"{text}, {command}"


def absolute_path(path: str) -> str:
    """A local path as an absolute path; any other address unchanged."""
    is_address = "://" in path or path.startswith(("table:", "iceberg:"))
    return path if is_address else os.path.abspath(path)  # noqa: PTH100  # links stay links


def command_line(command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """A command line of this program for a shell, with these paths.

    An option has a value, a list of values, or True if it takes none.
    """
    words = ["ndcg-spark", command]
    words += [absolute_path(path) for path in arguments]
    for name, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            words.append(OPTIONS.setting(name))
            if value is not True:
                words.append(str(value))
    return shlex.join(words)
