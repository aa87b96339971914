"""SIGINT, SIGTERM and SIGHUP end the process within two seconds, whatever the threads of an engine are doing.

Python calls a signal handler in its main thread, which may be waiting for an engine for minutes, and the embedded
engine installs handlers of its own. So the signals are blocked in every thread, and one thread does nothing but wait
for them. When a signal comes, that thread stops the engine, removes what was staged, and ends the process.

A process that never calls `watch`, such as one that uses this package as a library, handles signals as before.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator

from ndcg_spark.text import message

#: Seconds until the process ends at the latest, and how many of these a commit may take and the next cleanup waits.
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


def watch() -> None:
    """From now on, SIGINT, SIGTERM and SIGHUP end the process with the exit code 128 and the signal's number.

    Call it before any thread is started: a thread inherits which signals are blocked.

    A signal that the process was started to ignore is still ignored, with one exception. A script's shell starts
    background jobs so that they ignore Ctrl-C, but a SIGINT that another process sends to this one is obeyed.
    """
    ignored = {number for number in _ENDING if signal.getsignal(number) is signal.SIG_IGN}
    awaited = {number for number in _ENDING if number == signal.SIGINT or number not in ignored}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    threading.Thread(target=_wait, args=(awaited, ignored), name="interrupts", daemon=True).start()


def unwatch() -> None:
    """Let signals end the process as any other: the work is done, and closing the interpreter may take long.

    If a signal has already come this does not return, as the process is about to end.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    wait_for_exit()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


@contextlib.contextmanager
def cleaned_up_by(cleanup: Callable[[], object]) -> Iterator[None]:
    """Call `cleanup`, in another thread, if a signal ends the process within the block; those of outer blocks first."""
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
    """Around the publishing of a night, for which a signal waits up to a second.

    No cleanup may remove staging any more: if the second is over, a later evaluation removes what does not count.
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
    """Whether a night has been published so far, in words for the end of a message."""
    return _outcome


def is_published() -> bool:
    """Whether a night has been published so far."""
    return _published


def set_outcome(sentence: str) -> None:
    """Set what `outcome_so_far` says, for a command that publishes no night."""
    global _published, _outcome
    _outcome, _published = sentence, False


def wait_for_exit() -> None:
    """If a signal has come, wait for the end of the process: errors from now on are only its effect."""
    if _ended_by is not None:
        threading.Event().wait()


def _wait(awaited: Collection[signal.Signals], ignored: Collection[signal.Signals]) -> None:
    while True:
        number, sent_by_a_process = _next(awaited)
        if sent_by_a_process or number not in ignored:
            _end(number)


def _next(awaited: Collection[signal.Signals]) -> tuple[int, bool]:
    """The next of these signals, and whether a process sent it; the signals of a terminal come from the kernel."""
    if sys.platform == "linux":
        told = signal.sigwaitinfo(awaited)
        return told.si_signo, told.si_code <= 0
    return signal.sigwait(awaited), False


def _end(number: int) -> None:
    global _ended_by  # noqa: PLW0603  # there is one process to end
    end = time.monotonic() + _SECONDS
    with _turn:
        # Set before the wait, so that the main thread does not go on to anything else after its commit.
        _ended_by = number
        _turn.wait_for(lambda: not _committing, _COMMIT_SECONDS)
        cleanups = list(_cleanups)
    # Each in a thread of its own: an engine that does not answer must not keep staging from being removed.
    cleaning = [threading.Thread(target=_quietly, args=(cleanup,), daemon=True) for cleanup in cleanups]
    for thread in cleaning:
        thread.start()
        thread.join(max(0.0, min(_CLEANUP_SECONDS, end - time.monotonic())))
    for thread in cleaning:
        # On a busy machine it can take longer to remove many files.
        thread.join(max(0.0, end - time.monotonic()))
    with contextlib.suppress(OSError):
        os.write(2, f"ndcg-spark: interrupted; {_outcome}\n".encode(errors="backslashreplace"))
    # Not sys.exit: it would wait for the main thread, which waits for the engine.
    os._exit(128 + number)


def _quietly(cleanup: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        cleanup()
