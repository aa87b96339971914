"""Random evaluations as plain values, made of a seed alone: what is judged, returned and asked for.

A row has its values as they are written: ids as text, whether or not a file has them as numbers;
numbers as double, int, Decimal or text. `road_oracle` says what they mean.
"""

import contextlib
import dataclasses
import math
import random
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ndcg_spark import Convention
from ndcg_spark.convention.measures import MEASURES, by_depth
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError

Row = dict[str, Any]
#: By the word of a measure, its name and its cutoffs.
Measures = dict[str, tuple[str, list[int | None]]]

#: Shapes that are known not to be as documented: False leaves them out, with the reason above it.
SHAPES = {
    # Their mean depends on the order of the rows.
    "means of tenths": True,
    # They are widened inexactly, and decimals beside whole numbers are refused.
    "decimals beside other numbers": True,
    # A Parquet file of slices with categories of pandas is refused.
    "categories in slices": True,
    # An evaluation fails (Sail: interval.lower <= interval.upper), as 99 < 101 and "99" > "101".
    "statistics of whole-number ids": True,
    # Nulls become the one value of a column (statistics without null counts), and lists vanish
    # (deprecated minimum and maximum). True needs support/footers.py.
    "footers of other writers": True,
    # What follows a first file that is empty and compressed is refused.
    "empty files of gzip": True,
}

#: Sums of the first reach 1e301; the second lacks most grades; the third has a gain for grade 0.
TABLES: list[dict[float, float]] = [
    {-1: -1e300, 0: 0, 1: 1, 2: 3e15, 3: 1e300},
    {0: 0, 1: 1, 2: 5},
    {-1: -2.5, 0: 0.5, 0.5: 0.75, 1: 1, 2: 3, 3: 3, 4: 9},
]
CUTOFFS: list[list[int | None]] = [[1, 3], [2, 8, None], [None], [20], [1, 5, 10], [3], [2]]
#: By option, the values that are no words.
_OTHER: dict[str, list[Any]] = {
    "gain": [*TABLES, "python:numpy.expm1"],
    "discount": [[1, 0.5, 0.25], [1, 1, 1, 0.1, 0], "python:numpy.reciprocal"],
    "unjudged": [1.0, 0.5],
    "min_relevance": [2.0, 0.5],
    "relevant_from": [2.0, 0.5],
    "rbp_persistence": [0.5, 0.95],
    "max_grade": [4.0, 1.0],
}
VALUES = {option: [*known.words, *_OTHER.get(option, [])] for option, known in OPTIONS.items()}
# Its ranks are the places of rows, and these files have ranks of their own.
VALUES["order"].remove("file")
#: Options with an error refuse most evaluations, and functions of Python take as long as several.
_RARE = {"error": 0.15, "python:numpy.expm1": 0.2, "python:numpy.reciprocal": 0.2}

TEXT_IDS = [
    *'abéΩÿﬀ😀970/*"\\',
    "e\u0301",
    "d\u200bx",
    "\u2028x",
    "\uffff",
    "\u00a0",
    "{}",
    "_x",
    ".x",
]
TEXT_IDS += ["ü0", "10", "007", "00", "-1", "1e3", "12345678901234567890", "null", "NaN", "true"]
TEXT_IDS += ["it's", "a,b", "a;b", "a=b", "a/b", "%41", "\\N", "#7", 'say "x"', '"quoted"']
TEXT_IDS += ["doc 7", " lead", "trail ", "x\ty"]
NUMBER_IDS = ["0", "7", "9", "10", "70", "700", "2147483648", f"{2**53 + 1}", f"{2**63 - 1}"]
RUNS = ["bm25", "dense v2", "é", "A", "a", "x.y", "1", "10", "Ünï", 'q"uote', "100%", "a,b", "😀"]
RUNS += ["a=b"]
DATASETS = ["web", "é news", "1"]
NUMBER_KINDS = ["double", "float", "int", "decimal", "text"]
TEXT_FORMATS = ("csv", "tsv", "trec", "jsonl", "json")
_BAD_TEXT = ["", "NaN", "inf", "-Infinity", "1d", "0x10", "1e400", "1,5", "--1", "one", "1 2"]


@dataclasses.dataclass
class Table:
    """Rows, and how they are written."""

    rows: list[Row]
    columns: list[str]
    format: str
    #: By column: text or int for ids, double, float, int, decimal or text for numbers.
    kinds: dict[str, str]
    files: int = 1
    #: The columns that folders name, and whether files name the runs.
    folders: tuple[str, ...] = ()
    run_from_file: bool = False
    is_gzipped: bool = False
    #: Whether a row holds a list of documents.
    has_lists: bool = False
    #: Columns of `folders` that the files have, too.
    in_both: tuple[str, ...] = ()
    #: Lines that are not rows.
    broken: list[str] = dataclasses.field(default_factory=list)
    #: Runs whose file has no row.
    empty_runs: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    seed: int
    convention: Convention
    #: The options that the command names.
    options: dict[str, Any]
    cutoffs: list[int | None]
    measures: Measures
    judgments: Table
    results: Table
    exclude: Table | None = None
    slices: Table | None = None
    dataset: str = "default"
    documents: bool = False
    #: By module and name, the values of what is lowered.
    lowered: dict[tuple[str, str], Any] = dataclasses.field(default_factory=dict)

    @property
    def all_cutoffs(self) -> list[int | None]:
        cutoffs = {*self.cutoffs}
        for _, own in self.measures.values():
            cutoffs |= {*own}
        return sorted(cutoffs, key=by_depth)


def make_case(seed: int) -> Case:
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    # Results are skipped in long lists under some conventions only.
    is_skipping = chance.random() < 0.35
    convention, options = _convention(chance, is_skipping)
    whole = [] if is_skipping else [cutoffs for cutoffs in CUTOFFS if None in cutoffs]
    cutoffs = chance.choice([cutoffs for cutoffs in CUTOFFS if None not in cutoffs] + whole)
    measures, measured = _measures(chance, convention, options, cutoffs)
    if is_skipping and any(None in own for _, own in measures.values()):
        measures, measured = {}, convention
    convention = measured
    # In the definition of ERR, 2^grade is a double.
    world = _World(chance, convention, is_deep=is_skipping, can_be_large=not measures)
    case = Case(seed, convention, options, cutoffs, measures, *world.tables())
    case.exclude, case.slices = world.excluded(case.results), world.slices()
    if "dataset" not in case.judgments.columns:
        case.dataset = chance.choice(["default", "é news"])
    case.documents = chance.random() < 0.3
    case.lowered = _lowered(chance)
    if is_skipping:
        case.exclude = None
        case.lowered |= {("scoring.skipping", name): 0 for name in ("MIN_ROWS", "MIN_DEPTHS")}
    return case


def _convention(chance: random.Random, is_skipping: bool) -> tuple[Convention, dict[str, Any]]:
    """A convention, and the options of the command that name it."""
    while True:
        preset = chance.choice([*PRESETS]) if chance.random() < 0.3 else "standard"
        several = chance.choice([1, 3, 8, len(VALUES)] if preset == "standard" else [0, 1, 2])
        chosen = chance.sample([*VALUES], several)
        options = {option: chance.choice(VALUES[option]) for option in chosen}
        values = map(str, options.values())
        if any(chance.random() > _RARE.get(value, 1) for value in values):
            continue
        # An order that is named is one that ranks cannot contradict.
        options.setdefault("order", Convention.preset(preset).order)
        with contextlib.suppress(ConventionError):
            convention = Convention.preset(preset).replace(**options)
            named = {} if preset == "standard" else {"preset": preset}
            if not (is_skipping and (convention.ideal == "retrieved" or _removes(convention))):
                return convention, named | options


def _removes(convention: Convention) -> bool:
    """Whether documents leave lists, so that deeper ones move up."""
    is_dropping = "drop" in (convention.unjudged, convention.negative)
    is_once = convention.duplicates == "best"
    return is_dropping or is_once or convention.exclude_query_as_document


def _measures(
    chance: random.Random,
    convention: Convention,
    options: dict[str, Any],
    cutoffs: list[int | None],
) -> tuple[Measures, Convention]:
    if chance.random() < 0.4:
        return {}, convention
    judged = {name: of for name, of in MEASURES.items() if of.of == "judgments"}
    known = [name for name, of in judged.items() if of.averages or convention.ties != "average"]
    names = chance.sample(known, chance.randint(1, min(6, len(known))))
    arguments, convention = _arguments(chance, convention, options, names)
    words: Measures = {}
    for name in names:
        measure = MEASURES[name]
        written = chance.choice([name, *measure.written])
        for short in measure.arguments:
            written += f"({short}={arguments[short]})" if short in arguments else ""
        is_name = written.partition("(")[0].islower()
        if not measure.whole and chance.random() < 0.5:
            own = chance.choice([1, 4, 10, 30])
            words[f"{written}@{own}"] = name, [own]
        else:
            # A name in lower case stands for all cutoffs, and one of papers for the whole ranking.
            words[written] = name, cutoffs if is_name and not measure.whole else [None]
    return words, convention


def _arguments(
    chance: random.Random, convention: Convention, options: dict[str, Any], names: list[str]
) -> tuple[dict[str, Any], Convention]:
    """Arguments for all measures that take them, and the convention that they make."""
    if chance.random() < 0.6 or {"relevant_from", "rbp_persistence"} & {*options}:
        return {}, convention
    arguments: dict[str, Any] = {"rel": chance.choice([2, 0.5]), "p": chance.choice([0.5, 0.9])}
    changed = {}
    for name in names:
        for short, option in MEASURES[name].arguments.items():
            changed[option] = arguments[short]
    try:
        return arguments, convention.replace(**changed)
    except ConventionError:
        return {}, convention


def _formats(chance: random.Random) -> dict[str, str]:
    kinds = ["parquet", "parquet", "parquet", *TEXT_FORMATS]
    formats = {name: chance.choice(kinds) for name in ("judgments", "results")}
    return {**formats, "exclude": chance.choice(kinds[:-1])}


def _lowered(chance: random.Random) -> dict[tuple[str, str], Any]:
    """What takes effect on large inputs only, made to take effect on these, each in some cases."""
    values: dict[tuple[str, str], list[Any]] = {
        ("scoring.skipping", "MIN_ROWS"): [0, 0, 0, 100],
        ("scoring.skipping", "MIN_DEPTHS"): [0, 1],
        ("contract.counting", "_MANY_A_QUERY"): [0, 5],
        ("contract.counting", "_SAMPLE"): [3, 40],
        ("contract.counting", "_MAX_BROADCAST_CLASSIC"): [0],
        ("contract.counting", "_MAX_BROADCAST"): [0],
        ("inputs.batches", "MAX_ROWS"): [1, 60],
        ("inputs.parquet_copy", "_MIN_ROWS"): [1, 40],
        ("inputs.parquet_copy", "_MAX_THREADS"): [1],
        ("inputs.json_text", "_DOCUMENTS"): [7],
        ("inputs.delimited", "blocks"): [150, 2000],
        ("contract.counting", "_NOT_WORTH_A_SCAN"): [0.0, 1.0],
    }
    return {name: chance.choice(some) for name, some in values.items() if chance.random() < 0.7}


class _World:
    """The names and sizes of a case, from which its tables are drawn."""

    def __init__(
        self,
        chance: random.Random,
        convention: Convention,
        is_deep: bool,
        can_be_large: bool,
    ) -> None:
        self.chance, self.convention, self.formats = chance, convention, _formats(chance)
        self.can_be_large = can_be_large
        can_refuse = "error" in (convention.no_relevant, convention.missing_query)
        self.is_complete = can_refuse and chance.random() < 0.8
        self.has_bad_rows = chance.random() < 0.5
        self.is_deep = is_deep or chance.random() < 0.15
        self.id_kind = chance.choice(["text", "text", "int"])
        self.query_kind = chance.choice(["text", "text", "int"])
        self.documents = self._ids(self.id_kind, 60 if self.is_deep else 14)
        self.datasets: list[str | None] = [None]
        if chance.random() < 0.4 and not {"json", "trec"} & {*self.formats.values()}:
            self.datasets = [*chance.sample(DATASETS, chance.randint(1, 2))]
        self.queries = self._ids(self.query_kind, 6 if self.is_deep else chance.choice([3, 15, 25]))
        if self.id_kind in ("text", self.query_kind):
            self.documents = [*dict.fromkeys([*self.documents, *self.queries[:2]])]
        fitting = [run for run in RUNS if self._fits(run, ["results"])]
        self.runs = chance.sample(fitting, chance.randint(1, 4))

    def _fits(self, name: str, tables: Sequence[str] = ("judgments", "results", "exclude")) -> bool:
        kinds = {self.formats[table] for table in tables}
        # A line of TREC text has blanks between its fields, and may be taken for a comment or JSON.
        is_trec = not {" ", "\t"} & {*name} and not name.startswith(("#", "{", "["))
        return (is_trec or "trec" not in kinds) and ("\t" not in name or "tsv" not in kinds)

    def _ids(self, kind: str, count: int) -> list[str]:
        special = NUMBER_IDS if kind == "int" else [name for name in TEXT_IDS if self._fits(name)]
        chosen = self.chance.sample(special, min(len(special), count // 2))
        prefix = "" if kind == "int" else "d"
        plain = [f"{prefix}{at}" for at in range(100, 100 + count - len(chosen))]
        return self.chance.sample([*chosen, *plain], count)

    def tables(self) -> tuple[Table, Table]:
        judged, returned = self._judged(), self._returned()
        if self.has_bad_rows:
            self._spoil(judged, self.chance.randint(0, 4))
            self._spoil(returned, self.chance.randint(0, 8))
        self.chance.shuffle(judged.rows)
        self.chance.shuffle(returned.rows)
        return judged, returned

    def _kinds(self, format_: str, numbers: dict[str, list[str]]) -> dict[str, str]:
        """How each column is written; ids may be numbers in one table and text in the other."""
        kinds = {
            "query_id": self.query_kind,
            "doc_id": self.id_kind,
            "run": "text",
            "dataset": "text",
        }
        kinds = {name: self.chance.choice([kind, "text"]) for name, kind in kinds.items()}
        kinds |= {name: self.chance.choice(some) for name, some in numbers.items()}
        if format_ == "json":
            kinds |= {"query_id": "text", "doc_id": "text"}
        return kinds

    def _judged(self) -> Table:
        chance = self.chance
        kinds = self._kinds(self.formats["judgments"], {"relevance": NUMBER_KINDS})
        rows: list[Row] = []
        grades = self._grades()
        is_constant = chance.random() < 0.1 and not self.is_complete
        for dataset in self.datasets:
            for number, query in enumerate(self.queries):
                if number and chance.random() < 0.15 and not self.is_complete:
                    continue
                if number > 1 and chance.random() < 0.1:
                    # The same judgments as another query has.
                    first = dataset, self.queries[0]
                    again = [row for row in rows if (row.get("dataset"), row["query_id"]) == first]
                    rows += ({**row, "query_id": query} for row in again)
                    continue
                given = [1] if is_constant else grades
                given = [0] if number % 7 == 6 and not self.is_complete else given
                for document, grade in self._graded(number, given):
                    value = number_of(grade, kinds["relevance"])
                    rows.append(self._row(dataset, query, document, relevance=value))
        columns = [*self._key(), "doc_id", "relevance"]
        return self._table("judgments", rows, columns, kinds)

    def _key(self) -> list[str]:
        return ["query_id"] if self.datasets == [None] else ["dataset", "query_id"]

    def _graded(self, number: int, grades: list[float]) -> list[tuple[str, float]]:
        """The documents of a query with their grades, some twice."""
        pool = self._pool(number)
        drawn = {document: self.chance.choice(grades) for document in pool}
        # The mean of two grades may have no gain in a table.
        is_table = isinstance(self.convention.gain, dict)
        is_once = is_table and self.convention.judgment_duplicates == "mean"
        graded = [(doc, drawn[doc] if is_once else self.chance.choice(grades)) for doc in pool]
        return [(pool[0], 2), *graded[1:]] if self.is_complete else graded

    def _pool(self, number: int) -> list[str]:
        chance, convention = self.chance, self.convention
        may_repeat = self.formats["judgments"] != "json"
        known = self.documents
        if self.is_complete:
            known = [document for document in known if document not in self.queries] or known
        first = [known[0]] if self.is_complete else []
        most = min(len(known), 30 if self.is_deep else 8)
        pool = [*dict.fromkeys([*first, *chance.sample(known, chance.randint(1, most))])]
        if may_repeat and convention.judgment_duplicates != "error" and number % 3 == 0:
            pool += chance.sample(pool, min(2, len(pool)))
        return pool

    def _grades(self) -> list[float]:
        convention = self.convention
        grades: list[float] = [0, 0, 1, 2, 3]
        if isinstance(convention.gain, dict):
            grades = [grade for grade in convention.gain if grade >= 0]
        elif self.chance.random() < 0.5:
            # The means of halves are exact.
            grades += [0.1, 0.7, 2.3] if SHAPES["means of tenths"] else [0.5, 2.5, 4]
        can_be_large = self.can_be_large and convention.gain in ("exp2", "linear")
        if can_be_large and self.chance.random() < 0.1:
            grades += [996] if convention.gain == "exp2" else [996, 1e300]
        if convention.negative != "error" or self.has_bad_rows:
            grades += [-1]
        if isinstance(convention.max_grade, float):
            above = [convention.max_grade + 1] if self.has_bad_rows else []
            grades = [grade for grade in grades if grade <= convention.max_grade] + above
        return grades

    def _returned(self) -> Table:
        chance = self.chance
        numbers = {"score": NUMBER_KINDS, "rank": ["int", "int", "double", "text"]}
        kinds = self._kinds(self.formats["results"], numbers)
        has = self._scores_and_ranks()
        rows: list[Row] = []
        for dataset in self._answered():
            for at, run in enumerate(self.runs):
                is_last = dataset == self.datasets[-1] and at and not self.is_complete
                if not is_last or chance.random() > 0.2:
                    rows += self._run(dataset, run, kinds, has)
        columns = [*self._key(), "run", "doc_id", *has]
        table = self._table("results", rows, columns, kinds)
        if table.has_lists:
            # The position is the rank.
            table.columns = [*(name for name in columns if name != "rank"), "rank"]
            kinds["rank"] = "int"
            for numbered in lists_of(table).values():
                for position, row in enumerate(numbered, 1):
                    row["rank"] = position
        return table

    def _scores_and_ranks(self) -> list[str]:
        """Which of the two columns the results have. Without scores they are ranked by ranks."""
        convention, format_, both = self.convention, self.formats["results"], ["score", "rank"]
        if format_ == "json":
            return ["rank"] if convention.needs_rank else ["score"]
        if format_ == "trec" or (convention.needs_rank and convention.needs_score):
            return both
        if convention.order == "rank":
            return self.chance.choice([["rank"], both])
        return self.chance.choice([["score"], ["score"], both, ["rank"]])

    def _answered(self) -> list[str | None]:
        """The datasets of the results: sometimes one less, or one that is not judged."""
        chance, known = self.chance, [*self.datasets]
        if self.datasets == [None] or self.is_complete or chance.random() < 0.6:
            return known
        return known[:1] if chance.random() < 0.5 else [*known, "not judged"]

    def _run(
        self,
        dataset: str | None,
        run: str,
        kinds: dict[str, str],
        has: list[str],
    ) -> list[Row]:
        chance, rows = self.chance, []
        scores = Scores(chance, kinds["score"])
        rank_mode = chance.choice(["true", "true", "shuffled", "sparse"])
        for query in [*self.queries, "unjudged" if self.query_kind == "text" else "99"]:
            if chance.random() < 0.12 and not self.is_complete:
                continue
            listed = self._listed()
            drawn = [scores.draw() for _ in listed]
            ranks = _ranks(chance, drawn, rank_mode)
            for document, score, rank in zip(listed, drawn, ranks, strict=True):
                row = self._row(dataset, query, document, run=run)
                row |= {"score": score} if "score" in has else {}
                row |= {"rank": number_of(rank, kinds["rank"])} if "rank" in has else {}
                rows.append(row)
        return rows

    def _listed(self) -> list[str]:
        """The documents of a list, some twice where the convention takes them."""
        chance, known = self.chance, self.documents
        least, most = (20, len(known)) if self.is_deep else (1, min(12, len(known)))
        listed = chance.sample(known, chance.randint(least, most))
        if self.is_complete and known[0] not in listed:
            listed.append(known[0])
        may_repeat = self.convention.duplicates == "best" and self.formats["results"] != "json"
        return listed + listed[:2] if may_repeat and chance.random() < 0.4 else listed

    def _row(self, dataset: str | None, query: str, document: str, **more: Any) -> Row:
        named = {} if dataset is None else {"dataset": dataset}
        return {**named, "query_id": query, "doc_id": document, **more}

    def _table(
        self,
        name: str,
        rows: list[Row],
        columns: list[str],
        kinds: dict[str, str],
    ) -> Table:
        chance, format_ = self.chance, self.formats[name]
        table = Table(rows, columns, format_, kinds)
        table.files = 1 if format_ == "json" else chance.choice([1, 1, 2, 3])
        may_have_lists = format_ in ("parquet", "jsonl") and not self.has_bad_rows
        table.has_lists = may_have_lists and chance.random() < 0.15
        table.is_gzipped = format_ != "parquet" and chance.random() < 0.3
        may_be_by_file = "run" in columns and format_ != "trec"
        table.run_from_file = may_be_by_file and (format_ == "json" or chance.random() < 0.3)
        if not table.run_from_file and format_ != "trec" and chance.random() < 0.4:
            able = [name for name in ("run", "dataset") if name in columns]
            table.folders = tuple(chance.sample(able, chance.randint(0, len(able))))
            if chance.random() < 0.2 and not table.has_lists:
                table.in_both = table.folders
        if not self.is_complete and self._may_have_empty_runs(table) and chance.random() < 0.3:
            table.empty_runs = ["empty"]
        return table

    def _may_have_empty_runs(self, table: Table) -> bool:
        if table.is_gzipped and not SHAPES["empty files of gzip"]:
            return False
        is_by_folder = table.folders == ("run",) and table.format == "parquet"
        return is_by_folder or (table.run_from_file and table.format != "json")

    def _spoil(self, table: Table, count: int) -> None:
        """Make some rows bad, and add lines that are no rows."""
        chance = self.chance
        by_folder = {*table.folders, *table.in_both, *(["run"] if table.run_from_file else [])}
        able = [name for name in table.columns if name not in by_folder]
        if table.format in ("trec", "json"):
            able = [name for name in able if name in ("relevance", "score")]
        for row in chance.sample(table.rows, min(count, len(table.rows) // 3)) if able else []:
            name = chance.choice(able)
            row[name] = self._bad(name, table)
        lines = {"jsonl": ["{not json", "[1, 2]", '"text"'], "trec": ["one two", "one"]}
        if table.format in ("csv", "tsv") and len(able) > 2:
            lines[table.format] = ["one", "two"]
        known = lines.get(table.format, [])
        table.broken = chance.sample(known, chance.randint(0, len(known)))

    def _bad(self, name: str, table: Table) -> Any:
        chance, kind = self.chance, table.kinds[name]
        if name in ("dataset", "run", "query_id", "doc_id"):
            return None if kind == "int" else chance.choice([None, ""])
        if name == "rank" and kind != "text":
            return chance.choice([None, 0, -1, 2.0**31, 1.5] if kind == "double" else [None, 0, -1])
        if table.format == "trec":
            # Its lines have no empty field.
            return chance.choice([bad for bad in _BAD_TEXT if bad and " " not in bad])
        if kind == "text" or table.format in ("csv", "tsv"):
            return chance.choice(_BAD_TEXT)
        if kind in ("double", "float") and table.format == "parquet":
            return chance.choice([None, math.nan, math.inf, -math.inf])
        return None

    def excluded(self, results: Table) -> Table | None:
        chance, format_ = self.chance, self.formats["exclude"]
        if chance.random() < 0.75 or self.is_complete:
            return None
        names = [*self._key(), "doc_id"]
        good = [row for row in results.rows if all(row[name] for name in names)]
        rows = chance.sample(good, min(len(good), max(1, len(good) // 8)))
        if format_ == "trec" or chance.random() < 0.5:
            # Of a query of every dataset.
            names = ["query_id", "doc_id"]
        kept = [{name: row[name] for name in names} for row in rows]
        return Table(kept, names, format_, self._kinds(format_, {})) if kept else None

    def slices(self) -> Table | None:
        chance = self.chance
        if chance.random() < 0.7:
            return None
        pairs = [("language", "de"), ("language", "é"), ("kind", "a, b"), ("kind", '"x"')]
        names = chance.choice([self._key(), ["query_id"]])
        rows = []
        for query in self.queries:
            named = {"query_id": query}
            named |= {"dataset": chance.choice(self.datasets)} if "dataset" in names else {}
            for attribute, value in chance.sample(pairs, chance.randint(0, 3)):
                rows.append({**named, "attribute": attribute, "value": value})
        columns = [*names, "attribute", "value"]
        kinds = dict.fromkeys(columns, "text")
        return Table(rows, columns, chance.choice(["csv", "parquet"]), kinds) if rows else None


def lists_of(table: Table) -> dict[tuple[Any, ...], list[Row]]:
    """The rows of each list, or of the judgments of each query."""
    lists: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.rows:
        key = row.get("dataset"), row.get("run"), row["query_id"]
        lists.setdefault(key, []).append(row)
    return lists


class Scores:
    """Draws scores of one kind: often equal, nearly equal, or beyond the precision of a float."""

    def __init__(self, chance: random.Random, kind: str) -> None:
        self.chance, self.kind = chance, kind
        doubles = [
            [-1.0, -0.0, 0.0, 0.5, 2.0],
            [0.1, 0.1 + 1e-9, 0.1 + 2e-9, 0.2],
            [1e39, -1e39, 1e300, 3.4e38, -3.5e38, 5.0, 1.7e308],
            [1e-46, -1e-46, 0.0, 5e-324, 1e-45, -2e-45],
            [chance.uniform(-1, 1) for _ in range(200)],
            [1.0],
        ]
        floats = [
            [-1.0, -0.0, 0.0, 0.5],
            [0.1, 0.2, 1e30, 3e38, -1e30],
            [chance.uniform(-1, 1) for _ in range(200)],
        ]
        integers = [
            [-1, 0, 1, 2, 3, 4],
            [2**53 + at for at in range(5)] + [-(2**53) - 1, 2**62, 2**62 + 1],
            [2**24, 2**24 + 1, 2**24 + 2],
            [7],
            [*range(50)],
        ]
        decimals = [
            [Decimal(f"123456789012345.67890{at}") for at in range(9)],
            [Decimal(f"0.{at:06}") for at in (996, 996, 1000, 300000, 100000)],
            [Decimal("-0.5"), Decimal("0"), Decimal("2")],
        ]
        drawn: dict[str, list[list[Any]]] = {"int": integers, "decimal": decimals}
        drawn["float"] = [[as_float(value) for value in some] for some in floats]
        self.some = chance.choice(drawn.get(kind, doubles))

    def draw(self) -> Any:
        value = self.chance.choice(self.some)
        return written_text(self.chance, value) if self.kind == "text" else value


def written_text(chance: random.Random, value: float) -> str:
    """A number as somebody writes it, which reads as the same double."""
    ways = [repr(value), f"{value!r} ", f" {value!r}", f"{value:.17e}".upper()]
    if value == int(value) and abs(value) < 1e6 and math.copysign(1, value) > 0:
        ways += [f"{int(value)}", f"+{int(value)}", f"{int(value)}.", f"00{int(value)}"]
    return chance.choice(ways)


def as_float(value: float) -> float:
    """The nearest float of 32 bits."""
    nearest: float = struct.unpack("f", struct.pack("f", value))[0]
    return nearest


def number_of(value: float, kind: str) -> Any:
    """A grade or a rank in this kind, as near as it can be."""
    if kind == "int":
        return int(value) if abs(value) < 2**62 else 4
    if kind == "decimal":
        return Decimal(str(value)) if abs(value) < 1e6 else Decimal(4)
    if kind == "float":
        return as_float(value) if abs(value) < 1e30 else 4.0
    return repr(value) if kind == "text" else float(value)


def _ranks(chance: random.Random, scores: Sequence[Any], mode: str) -> list[int]:
    order = sorted(range(len(scores)), key=lambda at: -float(scores[at]))
    ranks = [0] * len(scores)
    for rank, at in enumerate(order, 1):
        ranks[at] = rank
    if mode == "shuffled" or (mode == "true" and chance.random() < 0.1):
        chance.shuffle(ranks)
    return [2 * rank + 1 for rank in ranks] if mode == "sparse" else ranks
