"""What a notebook shows of an object, by the protocol of IPython, which need not be installed."""

import sys
import types
from typing import Any
from unittest.mock import patch


def shown(table: Any) -> str:
    """The HTML that a notebook displays; fails where it would ask the object for nothing."""
    # As IPython does it: an object that has this attribute claims to have every one, and is not asked.
    assert getattr(table, "_ipython_canary_method_should_not_exist_", None) is None
    pages: list[str] = []
    module = types.ModuleType("IPython.display")
    vars(module).update(HTML=str, display=pages.append)
    with patch.dict(sys.modules, {"IPython": types.ModuleType("IPython"), "IPython.display": module}):
        table._ipython_display_()
    (page,) = pages
    return page
