"""The modules that users write: which are loaded, whether their files have changed, and how their
functions are sent to other processes.
"""

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

#: The time (in nanoseconds) and the size of each file when a module was loaded from it, by path.
#: None if they are unknown.
Stamps = dict[str, tuple[int, int] | None]


def loaded() -> dict[str, ModuleType]:
    """The loaded modules that are neither installed nor part of this package, by file."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        # The modules of a compiled package, such as Sail, have a `__file__` that is not a file.
        if not isinstance(file, str) or not os.path.isabs(file):  # noqa: PTH117  # it is text
            continue
        if not file.startswith(_installed_folders()):
            found[file] = module
    return found


def stamps(before: int) -> Stamps:
    """The stamps of all files from which modules are loaded.

    None for a file that changed after `before`, a time in nanoseconds, because it may have changed
    after it was loaded.
    """
    found: Stamps = {}
    for file in loaded():
        stamp = _stamp(file)
        found[file] = stamp if stamp and stamp[0] < before else None
    return found


def have_changed(known: Stamps) -> bool:
    """Whether a file has changed, or may have changed, since its module was loaded."""
    return any(stamp is None or _stamp(file) != stamp for file, stamp in known.items())


def packed(function: Callable[..., Any]) -> bytes:
    """The function as this process has it, pickled together with the users' code that it calls.

    Spark would send only its name. Python workers serve many queries but import a module only once,
    so they would use the function as it was before `importlib.reload`.
    """
    # Imported here because pyspark is slow to import. It has no types.
    cloudpickle: Any = importlib.import_module("pyspark.cloudpickle")

    # Defined within this function, so that its code is sent: workers may not have this package.
    def cached(wrapped: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
        return functools.lru_cache(maxsize, typed)(wrapped)

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # the same
        def reducer_override(self, given: Any) -> Any:
            # A cached function would also be sent as a name.
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
    """The loaded modules of users, which include the function's own module."""
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
    """The modules of installed packages, including packages in a user's own folder."""
    return frozenset(importlib.metadata.packages_distributions())


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    """The folders of Python, of installed packages and of this package, with a slash at the end."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    for folder in sys.path:
        if Path(folder).name in ("site-packages", "dist-packages"):
            folders.add(folder)
    folders.add(str(Path(__file__).parent))
    # A module's path may name the same folder without a link.
    folders |= {os.path.realpath(folder) for folder in folders}
    return tuple(f"{folder.rstrip(os.sep)}{os.sep}" for folder in folders)


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
