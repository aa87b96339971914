"""A signal ends the program soon, whatever it is doing, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import sessions
from servers import QUICK_SPARK

ROOT = Path(__file__).parents[1]
#: Generous, as the machine may be busy: without a mend it is ten minutes.
SOON = 30


def evaluating(folder, engine, *, ignoring=()):
    """An evaluation whose engine sleeps within a gain of ours while it writes what is staged."""
    (folder / "slow.py").write_text(
        "import pathlib, time\n"
        "def worth(grades):\n"
        f"    folder = pathlib.Path({str(folder)!r})\n"
        "    if any(folder.glob('out/_staging/*')):\n"
        "        (folder / 'asleep').touch()\n"
        "        time.sleep(600)\n"
        "    return grades\n",
        encoding="utf-8",
    )
    (folder / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\n", encoding="utf-8")
    (folder / "run.txt").write_text("q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\n", encoding="utf-8")
    arguments = ["--engine", engine, "--judgments", "qrels.txt", "--results", "run.txt", "--output", "out"]
    # Gains are asked for once more when the scores are staged, for the documents.
    arguments += ["--documents", "all"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ndcg_spark", "evaluate", *arguments, "--set", "gain=python:slow.worth"],
        cwd=folder,
        env=sessions.environment(**QUICK_SPARK, PYTHONPATH=f"{ROOT}:{folder}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignoring],  # noqa: PLW1509
    )
    end = time.monotonic() + 120
    while not (folder / "asleep").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    return process


def end_of(process):
    """The exit code and stderr of a process that ends soon."""
    try:
        _, said = process.communicate(timeout=SOON)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said


def staged(folder):
    return [*folder.glob("out/_staging/*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "send", "ignoring"),
    [
        pytest.param(signal.SIGINT, os.killpg, (), id="Ctrl-C in a terminal"),
        pytest.param(signal.SIGINT, os.kill, (signal.SIGINT,), id="SIGINT to a script's background job"),
        pytest.param(signal.SIGTERM, os.kill, (), id="SIGTERM by a scheduler"),
    ],
)
def test_a_signal_ends_an_evaluation_while_the_embedded_engine_works(tmp_path, number, send, ignoring):
    process = evaluating(tmp_path, "embedded", ignoring=ignoring)
    assert staged(tmp_path)
    send(process.pid, number)
    code, said = end_of(process)
    assert (code, staged(tmp_path)) == (128 + number, [])
    assert said.splitlines()[-1] == "ndcg-spark: interrupted; nothing was published"
    assert "Traceback" not in said


@pytest.mark.spark
def test_a_signal_ends_classic_spark_with_its_java_machine(tmp_path):
    process = evaluating(tmp_path, "spark")
    children = psutil.Process(process.pid).children(recursive=True)
    assert "java" in {child.name() for child in children}
    process.send_signal(signal.SIGTERM)
    code, said = end_of(process)
    assert (code, staged(tmp_path)) == (143, [])
    assert said.splitlines()[-1] == "ndcg-spark: interrupted; nothing was published"
    _, alive = psutil.wait_procs(children, timeout=SOON)
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []


def output_of(program, before="pass"):
    """The exit code, stdout and stderr of a program that handles signals from the start."""
    watched = (
        f"import os, signal, sys, time; from ndcg_spark import interrupts; {before}; interrupts.watch()\n{program}"
    )
    done = subprocess.run(
        [sys.executable, "-c", watched],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SOON,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_commit_that_is_nearly_through_is_completed_first():
    program = """
with interrupts.committing("out"):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.3)
    print("committed", flush=True)
print("went on", flush=True)
"""
    words = "ndcg-spark: interrupted; the night was published in out\n"
    assert output_of(program) == (143, "committed\n", words)


def test_a_commit_that_takes_long_is_not_waited_for():
    program = """
with interrupts.committing("out"):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)
"""
    words = "it was publishing: ndcg-spark nights out shows which evaluation counts"
    assert output_of(program) == (130, "", f"ndcg-spark: interrupted; {words}\n")


def test_what_stands_is_told_without_the_secrets_of_the_output():
    program = """
with interrupts.committing("s3://KEY:SECRET@bucket/out"):
    pass
print(interrupts.outcome_so_far())
"""
    assert output_of(program) == (0, "the night was published in s3://***@bucket/out\n", "")


def test_a_commit_that_fails_has_published_nothing():
    program = """
try:
    with interrupts.committing("out"):
        raise OSError
except OSError:
    print(interrupts.outcome_so_far())
"""
    assert output_of(program) == (0, "nothing was published\n", "")


def test_the_engine_ends_before_what_it_writes_is_removed_and_what_is_left_is_not_cleaned_again():
    program = """
def say(word):
    return lambda: print(word, flush=True)
with interrupts.cleaned_up_by(say("engine")):
    with interrupts.cleaned_up_by(say("of before")):
        pass
    with interrupts.cleaned_up_by(say("staging")):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)
"""
    assert output_of(program)[:2] == (130, "engine\nstaging\n")


def test_a_cleanup_that_fails_or_takes_for_ever_does_not_keep_the_next_from_its_work():
    program = """
with interrupts.cleaned_up_by(lambda: 1 / 0), interrupts.cleaned_up_by(lambda: time.sleep(600)):
    with interrupts.cleaned_up_by(lambda: print("removed", flush=True)):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)
"""
    assert output_of(program)[:2] == (130, "removed\n")


def test_what_fails_by_a_signal_says_nothing_of_it():
    program = """
import threading
gone = threading.Event()
try:
    with interrupts.cleaned_up_by(lambda: (gone.set(), time.sleep(0.3))):
        os.kill(os.getpid(), signal.SIGINT)
        gone.wait()
        raise RuntimeError("the engine is gone")
finally:
    print("told", flush=True)
"""
    assert output_of(program) == (130, "", "ndcg-spark: interrupted; nothing was published\n")


def test_a_signal_that_was_to_be_ignored_is_ignored():
    ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    program = "os.kill(os.getpid(), signal.SIGHUP); time.sleep(0.3); interrupts.unwatch(); print('alive')"
    assert output_of(program, before=ignoring) == (0, "alive\n", "")


def test_after_the_work_a_signal_ends_the_process_as_any_other():
    code, said, _ = output_of(
        "interrupts.unwatch(); print('done', flush=True); os.kill(os.getpid(), 15); time.sleep(600)"
    )
    assert (code, said) == (-15, "done\n")


def test_after_the_work_a_process_that_goes_on_handles_signals_as_before():
    # A test before this one, or the shell that runs the tests, may have let this process ignore SIGINT.
    own = "signal.signal(signal.SIGINT, signal.default_int_handler); "
    own += "signal.signal(signal.SIGTERM, lambda *_: print('own', flush=True))"
    program = """
interrupts.unwatch()
os.kill(os.getpid(), signal.SIGTERM)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
import threading
print([thread.name for thread in threading.enumerate()])
"""
    assert output_of(program, before=own) == (0, "own\ninterrupted\n['MainThread']\n", "")


def test_a_second_command_of_a_process_does_not_report_the_night_of_the_first():
    program = """
with interrupts.committing("out"):
    pass
interrupts.unwatch()
interrupts.watch()
print(interrupts.is_published(), interrupts.outcome_so_far())
"""
    assert output_of(program) == (0, "False nothing was published\n", "")


def test_a_command_in_another_thread_leaves_signals_alone():
    program = """
import threading
interrupts.unwatch()
def command():
    interrupts.watch()
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)
    interrupts.unwatch()
thread = threading.Thread(target=command)
thread.start()
thread.join()
"""
    assert output_of(program) == (0, "set()\n", "")
