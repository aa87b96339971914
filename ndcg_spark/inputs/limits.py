"""What the operating system allows this process."""

import contextlib


def raise_open_files() -> None:
    """Allow as many open files as this process may ask for: the embedded engine opens all files of a table at once."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
