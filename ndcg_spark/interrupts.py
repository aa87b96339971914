"""SIGINT, SIGTERM and SIGHUP end the process within two seconds, whatever the threads of an engine are doing.

Python runs signal handlers in its main thread, which may wait for an engine for minutes, and the embedded engine
installs handlers of its own. So the signals are blocked in every thread, and one thread waits for them. It stops the
engine, removes what was staged, and ends the process. A process that never calls `watch`, such as one that uses this
package as a library, handles signals as usual.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ndcg_spark.text import message

#: The longest times in seconds: until the process ends, for a commit, and before the next cleanup starts.
_SECONDS = 1.6
_COMMIT_SECONDS = 1.0
_CLEANUP_SECONDS = 0.5

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

NOTHING_PUBLISHED = "nothing was published"

_turn = threading.Condition()
_cleanups: list[Callable[[], object]] = []
_committing = False
_ended_by: int | None = None
_outcome = NOTHING_PUBLISHED
_published = False
#: The thread that waits for signals, and how they were handled before it.
_watcher: threading.Thread | None = None
_handlers: dict[signal.Signals, Any] = {}


def watch() -> None:
    """From now on, SIGINT, SIGTERM and SIGHUP end the process with the exit code 128 plus the signal's number.

    Call it before any thread is started, because threads inherit which signals are blocked. Signals that were ignored
    when the process started are still ignored, with one exception: the shell of a script starts background jobs so
    that they ignore Ctrl-C, but a SIGINT from another process ends the process.

    Outside the main thread it leaves signals alone: Python does not let other threads handle them.
    """
    global _watcher, _handlers  # noqa: PLW0603  # there is one process to end
    # A process such as a notebook runs several commands.
    set_outcome(NOTHING_PUBLISHED)
    if threading.current_thread() is not threading.main_thread():
        return
    _handlers = {number: signal.getsignal(number) for number in _ENDING}
    ignored = {number for number, handler in _handlers.items() if handler is signal.SIG_IGN}
    awaited = {number for number in _ENDING if number == signal.SIGINT or number not in ignored}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    _watcher = threading.Thread(target=_wait, args=(awaited, ignored), name="interrupts", daemon=True)
    _watcher.start()


def unwatch() -> None:
    """Handle signals as before `watch`, when the work is done.

    Does not return if a signal has already come, because the process is about to end.
    """
    global _watcher
    if _watcher is None or threading.current_thread() is not threading.main_thread():
        return
    for number, handler in _handlers.items():
        # The embedded engine has installed its own handler. None means that Python had not installed the earlier one.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
    watcher, _watcher = _watcher, None
    signal.pthread_kill(watcher.ident or 0, signal.SIGINT)
    # If a signal came before this one, the thread is about to end the process.
    watcher.join()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


@contextlib.contextmanager
def cleaned_up_by(cleanup: Callable[[], object]) -> Iterator[None]:
    """Call `cleanup` in another thread if a signal ends the process within the block; outer blocks come first."""
    with _turn:
        _cleanups.append(cleanup)
    try:
        yield
    finally:
        wait_for_exit()
        with _turn:
            _cleanups.remove(cleanup)


@contextlib.contextmanager
def committing(output: str) -> Iterator[None]:
    """A block that publishes a night: a signal waits up to a second for its end.

    Cleanups must not remove staging within it; a later evaluation removes what is left after a kill.
    """
    global _committing, _published, _outcome  # noqa: PLW0603  # there is one process to end
    with _turn:
        _committing = _ended_by is None
    wait_for_exit()
    output = message(output)
    _outcome = f"it was publishing: ndcg-spark nights {output} shows which evaluation counts"
    try:
        yield
        _outcome, _published = f"the night was published in {output}", True
    except BaseException:
        _outcome = NOTHING_PUBLISHED
        raise
    finally:
        with _turn:
            _committing = False
            _turn.notify_all()
        wait_for_exit()


def outcome_so_far() -> str:
    """Whether a night has been published so far, as the end of a message."""
    return _outcome


def is_published() -> bool:
    """Whether a night has been published so far."""
    return _published


def set_outcome(sentence: str) -> None:
    """Set what `outcome_so_far` says, for a command that publishes no night."""
    global _published, _outcome
    _outcome, _published = sentence, False


def wait_for_exit() -> None:
    """Wait for the end of the process if a signal has come: from then on, errors are only effects of the signal."""
    if _ended_by is not None:
        threading.Event().wait()


def _wait(awaited: Collection[signal.Signals], ignored: Collection[signal.Signals]) -> None:
    while True:
        number, sent_by_a_process = _next(awaited)
        if _watcher is None:
            return
        if sent_by_a_process or number not in ignored:
            _end(number)


def _next(awaited: Collection[signal.Signals]) -> tuple[int, bool]:
    """The next of these signals, and whether a process sent it, not the kernel for a terminal."""
    if sys.platform == "linux":
        info = signal.sigwaitinfo(awaited)
        return info.si_signo, info.si_code <= 0
    return signal.sigwait(awaited), False


def _end(number: int) -> None:
    global _ended_by  # noqa: PLW0603  # there is one process to end
    end = time.monotonic() + _SECONDS
    with _turn:
        # Set before the wait, so that the main thread stops after its commit.
        _ended_by = number
        _turn.wait_for(lambda: not _committing, _COMMIT_SECONDS)
        cleanups = list(_cleanups)
    # Each in a thread of its own: staging is removed even if the engine does not respond.
    cleaning = [threading.Thread(target=_quietly, args=(cleanup,), daemon=True) for cleanup in cleanups]
    for thread in cleaning:
        thread.start()
        thread.join(max(0.0, min(_CLEANUP_SECONDS, end - time.monotonic())))
    for thread in cleaning:
        # Removing many files can take longer.
        thread.join(max(0.0, end - time.monotonic()))
    with contextlib.suppress(OSError):
        os.write(2, f"ndcg-spark: interrupted; {_outcome}\n".encode(errors="backslashreplace"))
    # sys.exit would wait for the main thread, which waits for the engine.
    os._exit(128 + number)


def _quietly(cleanup: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        cleanup()
