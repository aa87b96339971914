"""What a notebook shows of an object, by the protocol of IPython, which need not be installed."""

from typing import Any


def shown(table: Any) -> str:
    """The HTML that a notebook displays; fails where it would ask the object for nothing, or for another display."""
    # As IPython does it: an object that has this attribute claims to have every one, and is not asked.
    assert getattr(table, "_ipython_canary_method_should_not_exist_", None) is None
    others = ("_ipython_display_", "_repr_mimebundle_")
    assert not any(callable(getattr(table, name, None)) for name in others)
    page = table._repr_html_()
    assert isinstance(page, str)
    return page
