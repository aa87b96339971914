"""TREC run files as people submit them to a shared task, gzipped, in the shape of TREC-COVID's first round; seeded.

Most lists have 1,000 documents and a third of them fewer. Scores have many digits, few, or none, so that some are
equal. Half the runs separate their fields by tabs; one run in ten counts its ranks from 0; in one list in 100 the first
two ranks are exchanged.
"""

import dataclasses
import gzip
import json
import shutil
from pathlib import Path

import numpy as np

#: The real first round, beside the project where it is there.
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "trec-covid-round1"
#: Documents that a query's lists are drawn from, and how many of them are judged.
CANDIDATES, JUDGED = 3_000, 290


@dataclasses.dataclass(frozen=True)
class TextSize:
    """How much text."""

    runs: int = 143
    queries: int = 30
    results: int = 1_000
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Text:
    """Where the qrels file and the folder of runs are."""

    judgments: Path
    results: Path

    @property
    def folder(self) -> Path:
        """The folder of both."""
        return self.judgments.parent


def make_text(size: TextSize, cache: Path) -> Text:
    """The text of this size, made unless the cache has it."""
    folder = cache / f"text-n{size.runs}-q{size.queries}-r{size.results}-s{size.seed}"
    text = Text(folder / "qrels.txt", folder / "runs")
    done = folder / "made.json"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        text.results.mkdir(parents=True)
        grades = {query: _grades(size, query) for query in range(1, size.queries + 1)}
        lines = (
            f"{query} 0 {_document(query, place)} {grade}\n"
            for query, of in grades.items()
            for place, grade in enumerate(of[:JUDGED])
        )
        text.judgments.write_text("".join(lines), encoding="ascii")
        for run in range(size.runs):
            _write_run(text.results / f"run-{run:03d}.gz", size, run, grades)
        done.write_text(json.dumps(dataclasses.asdict(size)), encoding="utf-8")
    return text


def real_text() -> Text | None:
    """The first round of TREC-COVID itself; None where it is not there."""
    return Text(REAL / "qrels.txt", REAL / "runs") if REAL.is_dir() else None


def _grades(size: TextSize, query: int) -> np.ndarray:
    chance = np.random.default_rng([size.seed, query])
    grades = np.searchsorted([0.7, 0.85], chance.random(CANDIDATES), side="right")
    grades[JUDGED:] = 0
    return grades


def _document(query: int, place: int) -> str:
    """An id of eight letters and digits."""
    number, letters = (query * CANDIDATES + place) * 2_654_435_761 % 36**8, ""
    for _ in range(8):
        number, digit = divmod(number, 36)
        letters += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return letters


def _write_run(path: Path, size: TextSize, run: int, grades: dict[int, np.ndarray]) -> None:
    chance = np.random.default_rng([size.seed, run, 1_000_000])
    between, first = "\t" if run % 2 else " ", 0 if run % 10 == 7 else 1
    lines: list[str] = []
    for query, of in grades.items():
        merit = chance.random(CANDIDATES) + 0.2 * of
        length = size.results if (run + query) % 3 else max(1, int(size.results * chance.random()))
        order = np.argsort(-merit)[:length]
        ranks = list(range(first, first + len(order)))
        if (run * 31 + query) % 100 == 0 and len(ranks) > 1:
            ranks[0], ranks[1] = ranks[1], ranks[0]
        for place, rank in zip(order.tolist(), ranks, strict=True):
            fields = (str(query), "Q0", _document(query, place), str(rank), _score(merit[place], run), path.stem)
            lines.append(between.join(fields))
    # Without the time and the name of the file, so that the same seed gives the same bytes.
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode("ascii"), compresslevel=6, mtime=0))


def _score(merit: float, run: int) -> str:
    return (repr(float(merit)), f"{merit:.6f}", f"{100 * merit:.4f}", str(int(merit * 1_000)))[run % 4]
