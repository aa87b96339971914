"""Random damage to files of an output: every command says so, or answers as if nothing had happened."""

import json
import random
import re
import shutil

import pytest
from commands import command_line
from gated_nights import evaluated, settings, write_night

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.reader import read_scores
from ndcg_spark.nights.store import LOG

DAYS = [f"2026-11-{day:02}" for day in range(1, 6)]
#: Its baseline is the mean of the nights of 3 and 4 November.
GATE = {"nights": 2}
TABLES = ("dataset_scores", "query_scores", "comparisons", "ranked_documents")
COMMANDS = {
    "nights": ("nights", "out", "--format", "csv"),
    "trend": ("trend", "out", "--format", "csv"),
    "compare": ("compare", "out", "--baseline-date", "good", "--format", "csv"),
    "gate": ("gate", "out", "--config", "gate.toml", "--format", "json"),
    "report": ("report", "out", "--html", "page.html"),
    "export": ("export", "out", "--to", "delta:copy"),
    "expire": ("expire", "out", "--keep-days", "0", "--dry-run"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five nights, one of them evaluated twice and one accepted, and what every command says of them."""
    made = tmp_path_factory.mktemp("flips")
    nights = [
        settings(made, day, GATE, worse=4 - at, documents="all") for at, day in enumerate(DAYS)
    ]
    nights[2]["accepted"] = "a good one"
    evaluated(made, {**nights[0], "accepted": "the first"}, *nights[1:3], nights[1], *nights[3:])
    paths = write_night(made)
    gate = ['engine = "embedded"', "cutoffs = [3]", "[gate]", "nights = 2", "[[gate.check]]"]
    gate += ['runs = ["hybrid"]', "cutoff = 3", "max_drop = 0.01"]
    gate[2:2] = [f'{name} = "{table["path"]}"' for name, table in paths.items()]
    (made / "gate.toml").write_text("\n".join(gate), encoding="utf-8")
    return made


def answer(folder, command, log):
    """The exit code, what is printed and written, and what is said beside it."""
    shutil.rmtree(folder / "copy", ignore_errors=True)
    log.clear()
    if command.startswith("read_scores "):
        try:
            rows = read_scores(folder / "out", command.split()[1]).to_dict("records")
            return 0, "\n".join(sorted(map(str, rows))), log.text
        except StorageError as error:
            return error.exit_code, "", str(error)
    done = command_line(*COMMANDS[command], cwd=folder, COLUMNS="200", NO_COLOR="1")
    page = folder / "page.html"
    written = page.read_text(encoding="utf-8") if command == "report" and page.exists() else ""
    page.unlink(missing_ok=True)
    return done.returncode, done.stdout + written, done.stderr


def damaged(content, rng):
    """A content with some other bits, or cut."""
    if rng.random() < 0.2:
        return content[: rng.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 3])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def leaves_out(command, shown, whole, date):
    """Whether an answer is that of the whole output but for a date whose log is damaged."""
    code, text, _ = shown
    if command in ("nights", "trend"):
        # Breaks and bands follow from the nights before.
        short = {",".join(line.split(",")[:6]) for line in text.splitlines()}
        known = {",".join(line.split(",")[:6]) for line in whole[1].splitlines()}
        return code == 0 and short <= known and all(date in line for line in known - short)
    if command == "gate":
        return code == 6 or json.loads(text)[0]["results"] == json.loads(whole[1])[0]["results"]
    if command == "report":
        return "its log cannot be read" in text
    if command == "expire":
        return "old night(s) are kept" in text
    if command.startswith("read_scores "):
        return code == 0 and {*text.splitlines()} < {*whole[1].splitlines()}
    return False


def beside_good(text):
    """The results of a verdict beside the good nights; p depends on how many others there are."""
    good = [one for one in json.loads(text)[0]["results"] if one["baseline"] == "good"]
    return [(one["check"], one["run"], one["result"], one["difference"]) for one in good]


@pytest.mark.slow
def test_damage_is_told_and_never_another_number(folder, thorough, caplog):
    rng = random.Random(61)  # noqa: S311
    commands = [*COMMANDS, *(f"read_scores {table}" for table in TABLES)]
    whole = {command: answer(folder, command, caplog) for command in commands}
    assert {command: shown[0] for command, shown in whole.items()} == dict.fromkeys(commands, 0)
    files = {table: sorted((folder / "out" / table).rglob("*.parquet")) for table in (LOG, *TABLES)}
    noticed = 0
    for _ in range(300 if thorough else 24):
        table = rng.choice([LOG, LOG, *TABLES])
        file = rng.choice(files[table])
        content = file.read_bytes()
        file.write_bytes(damaged(content, rng))
        date = re.search(r"evaluated_on=([\d-]+)", str(file))[1]
        for command in commands if thorough else rng.sample(commands, 2):
            shown = answer(folder, command, caplog)
            code, text, errors = shown
            where = (command, str(file), code, text[-300:], errors[-2_000:])
            assert "Traceback" not in errors, where
            if (code, text) == whole[command][:2]:
                continue
            noticed += 1
            assert file.name in errors + text, where
            if table == LOG:
                assert code == 4 or leaves_out(command, shown, whole[command], date), where
            elif command == "gate" and code == 0:
                # The accepted nights, which decide nothing if they cannot be read, are a note.
                assert beside_good(text) == beside_good(whole[command][1]), where
            else:
                # The gate has no verdict against good nights that cannot be read.
                assert code == 4 or (command == "gate" and code == 6), where
        file.write_bytes(content)
    assert noticed > 9
    assert {command: answer(folder, command, caplog)[:2] for command in commands} == {
        command: shown[:2] for command, shown in whole.items()
    }
