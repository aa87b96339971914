"""Text for people: names that cannot control a terminal, no secrets, messages on wrong names."""

import datetime
import difflib
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ndcg_spark.errors import ConfigurationError, InputError

#: Extra advice for a table that lacks documents.
ROWS_ARE_DOCUMENTS = (
    "if each row is a document, give one table with grades and scores as judgments and as results"
)
#: The characters stripped around text in files. Spelled out, because engines differ in what \\s and
#: $ match, and in which blanks a cast ignores.
BLANKS = " \t\r\n\f"
#: The pattern of a number in text. Without \\d, which also matches digits of other scripts; and not
#: what float() accepts, which includes 1_000, nan and infinity.
PLAIN_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"

#: The baseline of good nights: every check measured something and none failed, or somebody
#: accepted them.
GOOD = "good"
#: The baseline that is the newest accepted night, however old it is.
ACCEPTED = "accepted"
#: A baseline that begins with this is a run of the same night.
RUN = "run "

#: The advice for columns without a name.
UNNAMED = "the first line may be a title above the column names; remove it, or name every column"
#: How similar names must be to be suggested, from 0 to 1; 'nonsense' and 'none' have a similarity
#: of 0.67.
_NEAR = 0.7
#: Invisible letters and marks (Unicode: Default_Ignorable_Code_Point) and two blanks that count as
#: symbols; `isprintable` considers them printable.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U000e0100-\U000e01ef]"
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")

_URL = re.compile(r"\b(?!file:)[a-z][\w+.-]*://[^\s'\"<>]+", re.IGNORECASE)
#: The text after a colon is a password unless it is a port. It may contain slashes, so it ends at
#: the last @. Without a password, the text before @ is a user, or a container in an Azure URL.
_USER = re.compile(
    r"(?P<scheme>\b(?!file:)[a-z][\w+.-]*://)(?:[^/@:\s]*:(?!\d*(?:[/?#;\s]|$))[^\s'\"<>]*@|"
    r"(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)[^/?#;@\s'\"]*@)",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"([;?&][^=;?&/\s]+=)[^;&\s'\"]+")
#: A web address whose path is a secret, for example of a webhook or a Telegram bot, after its host.
_WEBHOOK = re.compile(
    r"(https?://[^/\s]+)/(?=[^\s'\"<>]*(?:hook|\bbot\d+:))[^\s'\"<>]+|"
    r"(https?://[^/\s]*hook[^/\s]*)/[^\s'\"<>]+",
    re.IGNORECASE,
)
#: Names of secret parameters, variables or options.
_HIDDEN = (
    r"[\w-]*(?:token|secret|passw|passphrase|pwd|credential|webhook|signature|"
    r"api[_-]?key|access[_-]?key|private[_-]?key)[\w-]*"
)
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^;&\s'\",]+)"
#: A parameter outside a URL, which a space may have cut: masked only if its name says that it is
#: secret.
_NAMED = re.compile(rf"((?:^|[\s;?&,('\"]){_HIDDEN}=){_VALUE}", re.IGNORECASE)
_VARIABLE_KEY = re.compile(rf"((?:^|[\s;('\"])[A-Z0-9_]*KEY=){_VALUE}")
#: An option of any command and its value, such as `-password X`; and a user with a password, in the
#: form used by curl.
_OPTION = re.compile(rf"((?:^|[\s'\"])--?{_HIDDEN}[\s=]+){_VALUE}", re.IGNORECASE)
_LOGIN = re.compile(r"((?:^|[\s'\"])(?:-u\s*|--(?:proxy-)?user[\s=]+)['\"]?)[^\s'\":]+:[^\s'\"]+")
#: HTTP headers that grant access, and tokens that can be recognised by their prefix.
_HEADER = re.compile(
    r"(\b(?:(?:proxy-)?authorization|cookie|x-[\w-]*(?:key|token|auth|secret)[\w-]*|"
    r"(?:api|private)-?(?:key|token))"
    r"\s*:\s*)(?:(?:bearer|basic|token|digest|apikey)\s+)?[^\s'\"]+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(\bbearer\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
_TOKEN = re.compile(r"\b(?:xox[abeprs]-|gh[opsru]_|github_pat_|glpat-|AKIA|ASIA)[\w-]{8,}")


def masked(text: str) -> str:
    """The text with `***` instead of its secrets.

    A URL's secrets are its user, the values of all its parameters (any of them can be one),
    and the whole path of a webhook. Passwords, keys and tokens in the form used by commands and
    headers are also masked.
    """
    text = _USER.sub(r"\g<scheme>***@", text)
    text = _WEBHOOK.sub(_without_path, text)
    text = _URL.sub(_without_values, text)
    for pattern in (_HEADER, _BEARER, _LOGIN, _OPTION, _NAMED, _VARIABLE_KEY):
        text = pattern.sub(r"\1***", text)
    return _TOKEN.sub("***", text)


def _without_path(webhook: re.Match[str]) -> str:
    # Only one of the two alternatives of the pattern has matched.
    host = webhook[1] or webhook[2]
    return f"{host}/***"


def _without_values(url: re.Match[str]) -> str:
    """A URL without the values of its parameters."""
    return _PARAMETER.sub(r"\1***", url[0])


def program_of(command: str) -> str:
    """The name of a command's program, with `***` for its arguments, any of which may be secret."""
    try:
        words = shlex.split(command)
    except ValueError:
        return "***"
    if not words or "=" in words[0]:
        return "***"
    name = masked(words[0].rpartition("/")[2])
    return f"{name} ***" if len(words) > 1 else name


def masked_within(value: Any) -> Any:
    """The value with every text masked, at any depth of mappings and lists. Keys do not change."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: masked_within(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [masked_within(entry) for entry in value]
    return value


def from_home(path: Path) -> Path:
    """The path with ~ replaced by the home folder. ConfigurationError if that is not known."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"{path}: this user's home folder is not known") from error


def expanded(path: str) -> str:
    """The path with ~ and $VARIABLE expanded as in a shell, unless it exists as written."""
    if path.startswith(("table:", "iceberg:")) or os.path.lexists(path):
        return path
    for plain, in_braces in _VARIABLE.findall(path):
        # For $NAME the second is empty, for ${NAME} the first.
        name = plain or in_braces
        if name not in os.environ:
            raise ConfigurationError(f"{path}: the environment variable {name} is not set")
    return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111  # a path may be a URI


def printable(text: str) -> str:
    r"""The text in one line, with escapes such as ``\x1b`` and ``\n``.

    Characters that are invisible, or that XML does not allow, are escaped.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    if character.isprintable() and not _INVISIBLE.match(character):
        return character
    return character.encode("unicode_escape").decode()


def message(text: str) -> str:
    """A text that may be shown to people: printable, and without secrets."""
    return printable(masked(text))


def day(date: str, year: bool = False) -> str:
    """A date as people write it: `20 November`, with the year if requested."""
    parsed = datetime.date.fromisoformat(date)
    text = f"{parsed.day} {parsed:%B}"
    if year:
        text += f" {parsed:%Y}"
    return text


def baseline_run(baseline: str) -> str | None:
    """The run of the same night that a baseline names, or None if it means other nights."""
    if not baseline.startswith(RUN):
        return None
    return baseline.removeprefix(RUN)


def label_text(label: object) -> str:
    """A label as it is compared: without surrounding blanks; booleans as engines write them."""
    if isinstance(label, bool):
        return str(label).lower()
    return str(label).strip(BLANKS)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'trec_eval'?)`, or empty if no known name is similar.

    A name is similar if it differs in a letter or two, or begins with the word.
    """
    # A number that differs in a digit is a different number.
    if word.isdecimal():
        return ""
    by_folded = {_folded(name): name for name in known}
    wanted = _folded(word)
    similar = difflib.get_close_matches(wanted, by_folded, n=1, cutoff=_NEAR)
    if len(wanted) > 2:
        similar += [name for name in by_folded if name.startswith(wanted)]
    return f" (did you mean {by_folded[similar[0]]!r}?)" if similar else ""


def _folded(name: str) -> str:
    """A name in the form in which names are compared: `beir_v2` for `BEIR-v2`."""
    return name.lower().replace("-", "_")


def unknown_name(option: str, kind: str, name: str, known: Iterable[str]) -> ConfigurationError:
    """The error for an unknown name. It shows the known names, the most similar first."""
    names = sorted(known)
    # Without a limit of similarity, this sorts the names.
    nearest = ", ".join(difflib.get_close_matches(name, names, n=10, cutoff=0.0))
    how_many = f"one of {len(names):,}: " if len(names) > 1 else ""
    return ConfigurationError(f"{option}: no {kind} is called {name!r}; choose {how_many}{nearest}")


def refuse_alike(names: Iterable[str]) -> None:
    """Raise InputError if column names are blank or differ only in case, which Spark ignores."""
    by_lower_case: dict[str, list[str]] = {}
    blank: list[str] = []
    for name in names:
        if name.strip():
            by_lower_case.setdefault(name.lower(), []).append(name)
        else:
            blank.append(name)
    if len(blank) > 1:
        named = next(iter(by_lower_case.values()), blank)
        raise InputError(f"{len(blank)} columns have no name, next to {named[0]!r}; {UNNAMED}")
    alike = [same for same in by_lower_case.values() if len(same) > 1]
    if alike:
        example = " and ".join(alike[0])
        what = f"{len(alike)} column name(s) occur twice or differ only in case, e.g. {example}"
        raise InputError(f"{what}; rename them")


def rename_advice(missing: Iterable[str], found: Iterable[str]) -> str:
    """The advice for missing columns; if a name is blank, a title may hide the names."""
    if all(name.strip() for name in found):
        return f"rename its columns to {' and '.join(missing)}"
    return UNNAMED
