"""The names of `scored` for tests that are about to go."""

from collections.abc import Callable
from typing import Any

import sessions
from scored import Scored, examples_of, queries, scored
from staying import returned

__all__ = ["Embedded", "examples_of"]


class Embedded:
    def __call__(self, *arguments: Any, **named: Any) -> Scored:
        return returned(scored, sessions.engine().session, *arguments, **named)

    def queries(self, *arguments: Any, **named: Any) -> Scored:
        return returned(queries, sessions.engine().session, *arguments, **named)

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return returned(function, sessions.engine().session, *arguments, **named)
