"""Secrets of URLs, the user-info and the values of parameters, are masked before text is printed or stored.

`s3://KEY:SECRET@bucket` becomes `s3://***@bucket`, and `sc://host/;token=abc` becomes `sc://host/;token=***`. Any
parameter can be secret, so all of them are masked.
"""

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>[^\s'\"<>]+)")
#: What follows a colon is a password, unless it is a port. It may contain slashes, so it ends at the last @.
_PASSWORD = re.compile(r"[^/@:]*:(?!\d*(?:[/?#;]|$)).*@")
_USER = re.compile(r"[^/?#;]*@")
_PARAMETER = re.compile(r"(?P<name>[;?&][^=;?&/\s]+=)[^;&\s'\"]+")
#: A parameter outside a URL, which a space may have cut: masked only if its name says that it is secret.
_NAMED = re.compile(
    r"(?P<name>(?:^|[\s;?&,])[\w-]*(?:token|secret|password|passwd|api[_-]?key|access[_-]?key)[\w-]*=)[^;&\s'\",]+",
    re.IGNORECASE,
)
#: In these, the part before @ is the container, which is not secret.
_CONTAINER_BEFORE_HOST = frozenset({"abfs", "abfss", "wasb", "wasbs"})


def masked(text: str) -> str:
    """The text with `***` in place of the user-info and of every parameter's value in its URLs.

    A file:// URL stays unchanged, and so does the container of an Azure URL unless a password follows it. Masking twice
    has no further effect.
    """
    return _NAMED.sub(_without_value, _URL.sub(_without_secrets, text))


def masked_within(value: Any) -> Any:
    """The value with every text masked, at any depth of mappings and lists; keys stay unchanged."""
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
