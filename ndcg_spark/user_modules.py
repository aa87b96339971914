"""Users' modules: those that are loaded, changes of their files, and functions as bytes."""

import functools
import importlib
import importlib.metadata
import io
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

#: By file, its time in nanoseconds and its size when a module was loaded from it; None if unknown.
Stamps = dict[str, tuple[int, int] | None]


def loaded() -> dict[str, ModuleType]:
    """By file, each loaded module that is neither installed nor part of this package."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        # A compiled package, such as Sail, gives its modules names that are not files.
        if not isinstance(file, str) or not os.path.isabs(file):  # noqa: PTH117  # it is text
            continue
        if not file.startswith(_installed_folders()):
            found[file] = module
    return found


def stamps(before: int) -> Stamps:
    """The state of the files of loaded modules; None for a file changed after `before`
    (nanoseconds).

    Such a file may have changed after it was loaded.
    """
    found: Stamps = {}
    for file in loaded():
        stamp = _stamp(file)
        found[file] = stamp if stamp and stamp[0] < before else None
    return found


def have_changed(known: Stamps) -> bool:
    return any(stamp is None or _stamp(file) != stamp for file, stamp in known.items())


def packed(function: Callable[..., Any]) -> bytes:
    """The function as this process has it, pickled with what it uses of the user's modules.

    Spark would send its name. Python workers import a module once and serve many queries, so they
    would use the function as it was before `importlib.reload`.
    """
    # It has no types. Imported here because pyspark is slow to import.
    cloudpickle: Any = importlib.import_module("pyspark.cloudpickle")

    # Within this function, so that it is sent whole: workers may not have this package.
    def cached(wrapped: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
        return functools.lru_cache(maxsize, typed)(wrapped)

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # the same
        def reducer_override(self, given: Any) -> Any:
            # It would be sent as a name, too.
            if isinstance(given, functools._lru_cache_wrapper):
                parameters = given.cache_parameters()
                return cached, (given.__wrapped__, parameters["maxsize"], parameters["typed"])
            return super().reducer_override(given)

    known = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in _modules_beside(function) if module.__name__ not in known]
    buffer = io.BytesIO()
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        Pickler(buffer).dump(function)
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
    return buffer.getvalue()


def _modules_beside(function: Callable[..., Any]) -> list[ModuleType]:
    """The loaded user modules, including the function's own module if it is not installed."""
    own = str(getattr(function, "__module__", "")).partition(".")[0]
    found = []
    for module in loaded().values():
        name = module.__name__.partition(".")[0]
        is_users = name == own or name not in _distributed()
        if is_users and name != "__main__" and sys.modules.get(module.__name__) is module:
            found.append(module)
    return found


@functools.cache
def _distributed() -> frozenset[str]:
    """The modules of packages, including those that are installed into a user's folder."""
    return frozenset(importlib.metadata.packages_distributions())


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    for folder in sys.path:
        if Path(folder).name in ("site-packages", "dist-packages"):
            folders.add(folder)
    folders.add(str(Path(__file__).parent))
    # The same folder may have been found through a link.
    folders |= {os.path.realpath(folder) for folder in folders}
    return tuple(f"{folder.rstrip(os.sep)}{os.sep}" for folder in folders)


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
