"""Files that are written beside what is printed: a page, plots, JUnit XML."""

import contextlib
from pathlib import Path

from ndcg_spark.errors import ConfigurationError, StorageError


def refuse_unwritable(option: str, file: Path) -> None:
    """ConfigurationError if the file cannot be written, before anything is computed; the file stays as it is."""
    path = file.expanduser()
    try:
        if not path.exists():
            # The target of a link, because a link to nothing must stay.
            target = path.resolve()
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb"):
                pass
            target.unlink()
        elif path.is_file() or path.is_dir():
            # A pipe or a device is written once, and not tried before.
            with path.open("ab"):
                pass
    except OSError as error:
        raise ConfigurationError(f"{option}: {file} cannot be written, {error.strerror}; check --{option}") from error


def write_file(option: str, file: Path, content: bytes) -> None:
    """Write the file; a regular file is written whole or not at all."""
    path = file.expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        if path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()
        raise StorageError(f"{option}: {file} cannot be written, {error.strerror}; what was published stays") from error
