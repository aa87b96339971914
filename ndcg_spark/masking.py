"""Secrets in text are masked before it is printed or kept: who logs in to a URL, and what a URL's parameters say.

`s3://KEY:SECRET@bucket` becomes `s3://***@bucket`, and `sc://host/;token=abc` becomes `sc://host/;token=***`. Which
parameters are secret nobody can list, so all of them are masked.
"""

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>[^\s'\"<>]+)")
#: What a colon begins that is no port is a password, which may have slashes in it: it ends at the last @.
_PASSWORD = re.compile(r"[^/@:]*:(?!\d*(?:[/?#;]|$)).*@")
_USER = re.compile(r"[^/?#;]*@")
_PARAMETER = re.compile(r"(?P<name>[;?&][^=;?&/\s]+=)[^;&\s'\"]+")
#: A parameter that stands alone, as where a URL was cut at a space: only names that tell a secret.
_NAMED = re.compile(
    r"(?P<name>(?:^|[\s;?&,])[\w-]*(?:token|secret|password|passwd|api[_-]?key|access[_-]?key)[\w-]*=)[^;&\s'\",]+",
    re.IGNORECASE,
)
#: Here the part before @ is the container, and where the data is cannot be told without it.
_CONTAINER_BEFORE_HOST = frozenset({"abfs", "abfss", "wasb", "wasbs"})


def masked(text: str) -> str:
    """The text with `***` for the user-info and for every parameter's value of the URLs in it.

    A file:// URL has neither. The container of an Azure URL stays, unless a password follows it. Masking twice is the
    same as masking once.
    """
    return _NAMED.sub(_without_value, _URL.sub(_without_secrets, text))


def masked_within(value: Any) -> Any:
    """The value with every text in it masked, however deep in mappings and lists; keys stay as they are."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: masked_within(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [masked_within(entry) for entry in value]
    return value


def _without_secrets(url: re.Match[str]) -> str:
    scheme, rest = url["scheme"].lower(), url["rest"]
    if scheme == "file":
        return url[0]
    user = _PASSWORD.match(rest) or (None if scheme in _CONTAINER_BEFORE_HOST else _USER.match(rest))
    if user:
        rest = f"{MASK}@{rest[user.end() :]}"
    return f"{url['scheme']}://{_PARAMETER.sub(_without_value, rest)}"


def _without_value(parameter: re.Match[str]) -> str:
    return f"{parameter['name']}{MASK}"
