"""Cutoffs, the definition and the SQL of each measure, and the measures of an evaluation.

A cutoff is the last rank that is scored, counted from 1, or None for the whole ranking. A new
measure is one entry of MEASURES. Small functions return its SQL, which every engine supports. The
SQL uses

* for a document: its rank, and the columns that the entry names in `documents`,
* for a list: whether a document is in it; the names of `lists`; and `returned`, its length,
* for a query: `relevant_documents` and `other_documents`, the numbers of judged documents that are
  and are not relevant,
* for a cutoff and a convention: the fields of `Names`.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from ndcg_spark.convention import catalog

Cutoff = int | None

DEFAULT_CUTOFFS: tuple[Cutoff, ...] = (1, 3, 5, 10)


def format_cutoff(cutoff: Cutoff) -> str:
    """Return a cutoff as text: 10, or all."""
    return str(cutoff or "all")


def measure_at(measure: str, cutoff: Cutoff) -> str:
    """Return the name of a measure at a cutoff: ndcg@10, ap@all."""
    return f"{measure}@{format_cutoff(cutoff)}"


def column_at(column: str, cutoff: Cutoff) -> str:
    """Return the name of a column at a cutoff: dcg_10, dcg_all."""
    return f"{column}_{format_cutoff(cutoff)}"


def by_depth(cutoff: Cutoff) -> tuple[bool, int]:
    """Return a sort key for cutoffs: ascending, with the whole ranking last."""
    return cutoff is None, cutoff or 0


def by_run(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a sort key for rows of scores: by dataset, run and cutoff."""
    return row["dataset"], row["run"], *by_depth(row["cutoff"])


def deepest_finite(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """Return the deepest cutoff that is a rank, or None (the whole ranking) if there is none."""
    return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)


@dataclasses.dataclass(frozen=True)
class Names:
    """The inputs of a measure's SQL, for a convention and a cutoff."""

    #: The column with a document's rank.
    rank: str
    #: The condition that a document is in its list.
    listed: str
    #: The cutoff; for the whole ranking, a number above every rank.
    k: int
    #: SQL for the number of ranks down to the cutoff, at least 1.
    ranks: str
    is_whole: bool
    #: The persistence of RBP.
    persistence: float
    #: The columns with the sums down to the cutoff, by the names of `sums`.
    sums: Mapping[str, str]


#: A function that returns SQL.
Formula = Callable[[Names], str]


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure's definition, and how it is computed."""

    words: str
    #: Its names in papers and tools; the first is the name in ir_measures.
    written: tuple[str, ...]
    #: Its columns in both tables of scores, each with the SQL of its value at a cutoff. The first
    #: column is the measure.
    values: Mapping[str, Formula]
    #: The columns of documents that its SQL uses.
    documents: tuple[str, ...] = ()
    #: The values that are summed over the documents of a list, each with its SQL, which is None for
    #: one of the columns in `documents`.
    sums: Mapping[str, Formula | None] = dataclasses.field(default_factory=dict)
    #: Other values of a list, each with the SQL that aggregates the list's documents.
    lists: Mapping[str, Formula] = dataclasses.field(default_factory=dict)
    #: The options of a convention that its arguments set: `P(rel=2)@5` sets relevant_from.
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether it is a sum over ranks, so that it can be averaged over ties.
    averages: bool = False
    #: Whether it divides by the number of relevant documents, so it is undefined without any.
    is_ratio: bool = False
    #: Whether it is computed only on the whole ranking.
    whole: bool = False
    #: What it measures: a list by its judgments or by the catalog, or all lists of a run together.
    of: Literal["judgments", "list", "run"] = "judgments"

    @property
    def column(self) -> str:
        """The column of the measure itself."""
        return next(iter(self.values))


_relevance_measure = functools.partial(
    Measure, documents=("relevant",), arguments={"rel": "relevant_from"}
)
_RELEVANT: Mapping[str, Formula | None] = {"relevant": None}


def _list_measure(name: str, words: str, formula: Formula, **more: Any) -> Measure:
    """Return a measure of lists that uses the catalog."""
    arguments = catalog.arguments_of(name)
    values = {name: formula}
    return Measure(words, (name.capitalize(),), values, of="list", arguments=arguments, **more)


def _run_measure(name: str, words: str) -> Measure:
    """Return a measure of all lists of a run together."""
    arguments = catalog.arguments_of(name)
    values = {name: _no_formula}
    return Measure(words, (name.capitalize(),), values, of="run", arguments=arguments)


def _no_formula(_: Names) -> str:
    """Return "", because NDCG and the measures of runs are computed by modules of `scoring`."""
    return ""


def _novelty(at: Names) -> str:
    # If the mean is over k, no document has a count, and the sum of the counts is null.
    return f"{at.sums['novelty_value']} / coalesce({at.sums['novelty_counted']}, {at.ranks})"


def _popularity(at: Names) -> str:
    return f"{at.sums['popularity_value']} / {at.sums['popularity_counted']}"


def _categories(at: Names) -> str:
    within = f"filter(ranked_categories, document -> document.rank <= {at.k})"
    names = f"array_distinct(transform({within}, document -> document.category))"
    return f"if(returned > 0, cast(size({names}) as double) / {at.ranks}, null)"


def _rank_and_category(at: Names) -> str:
    return f"named_struct('rank', {at.rank}, 'category', item_category)"


def _precision(at: Names) -> str:
    return f"{at.sums['relevant']} / {at.ranks}"


def _recall(at: Names) -> str:
    return f"{at.sums['relevant']} / greatest(relevant_documents, 1)"


def _capped_recall(at: Names) -> str:
    return f"{at.sums['relevant']} / greatest(least(relevant_documents, {at.k}), 1)"


def _average_precision(at: Names) -> str:
    within = f"filter(relevant_ranks, rank -> rank <= {at.k})"
    # No rank is 0, but `/` fails on Sail with a division by zero if all lists of a batch are empty.
    precisions = f"transform({within}, (rank, at) -> try_divide(at + 1, rank))"
    total = f"aggregate({precisions}, 0D, (so_far, term) -> so_far + term)"
    return f"{total} / greatest(relevant_documents, 1)"


def _reciprocal_rank(at: Names) -> str:
    return f"if(first_relevant <= {at.k}, 1 / first_relevant, 0D)"


def _first_relevant(at: Names) -> str:
    return f"min(if({at.listed} and relevant > 0, {at.rank}, null))"


def _success(at: Names) -> str:
    return f"if({at.sums['relevant']} > 0, 1D, 0D)"


def _rbp(at: Names) -> str:
    return at.sums["weighted_worth"]


def _rbp_residual(at: Names) -> str:
    seen = at.sums["weighted_unjudged"]
    if not at.is_whole:
        return seen
    # As in trec_eval, this includes what unjudged documents after the end of the list could add.
    return f"{seen} + if({seen} > 0, pow({at.persistence}D, cast(returned as double)), 0D)"


def _weighted_worth(at: Names) -> str:
    return f"{_weight(at)} * worth"


def _weighted_unjudged(at: Names) -> str:
    return f"{_weight(at)} * unjudged"


def _weight(at: Names) -> str:
    """Return the weight of a rank in RBP (Moffat and Zobel 2008)."""
    return f"(1D - {at.persistence}D) * pow({at.persistence}D, cast({at.rank} - 1 as double))"


def _err(at: Names) -> str:
    # Down the list, `reading` is the probability that the reader reaches a document.
    within = f"filter(stops, document -> document.rank <= {at.k})"
    reading = "so_far.reading * (1D - document.stop)"
    total = "so_far.sum + so_far.reading * document.stop / document.rank"
    step = f"named_struct('reading', {reading}, 'sum', {total})"
    begin = "named_struct('reading', 1D, 'sum', 0D)"
    return f"aggregate({within}, {begin}, (so_far, document) -> {step}).sum"


def _bpref(_: Names) -> str:
    """Return bpref as trec_eval 9 computes it.

    With R relevant documents and N documents judged not relevant, it is the sum over the returned
    relevant documents of 1 - min(n, R) / min(N, R), divided by R, where n is the number of
    documents above it that are judged not relevant. `judged_ranks` has a code for each judged
    document that is returned, best first: 2 * rank + 1 if it is relevant, otherwise 2 * rank.
    """
    is_relevant = "code % 2"
    above = "least(so_far.others, relevant_documents)"
    most = "greatest(least(other_documents, relevant_documents), 1)"
    others = f"so_far.others + 1D - {is_relevant}"
    total = f"so_far.sum + {is_relevant} * (1D - {above} / {most})"
    step = f"named_struct('others', {others}, 'sum', {total})"
    begin = "named_struct('others', 0D, 'sum', 0D)"
    found = f"aggregate(judged_ranks, {begin}, (so_far, code) -> {step}).sum"
    return f"{found} / greatest(relevant_documents, 1)"


def _r_precision(_: Names) -> str:
    within = "filter(relevant_ranks, rank -> rank <= relevant_documents)"
    found = f"aggregate({within}, 0D, (so_far, rank) -> so_far + 1D)"
    return f"{found} / greatest(relevant_documents, 1)"


def _judged_share(at: Names) -> str:
    return f"{at.sums['known']} / {at.ranks}"


def _rank(at: Names) -> str:
    return at.rank


def _stop(at: Names) -> str:
    return f"named_struct('rank', {at.rank}, 'stop', stop)"


def _rank_and_relevance(at: Names) -> str:
    """Return a code that sorts by rank: twice the rank, plus one if the document is relevant."""
    return f"{at.rank} * 2 + cast(relevant as int)"


def _sorted_values(condition: str, value: Formula) -> Formula:
    """Return a formula for the values of the list's documents that meet a condition, ascending."""

    def collected(at: Names) -> str:
        return f"sort_array(collect_list(if({at.listed} and {condition}, {value(at)}, null)))"

    return collected


#: The measures by their names in the configuration, in the order of the tables.
MEASURES: dict[str, Measure] = {
    "ndcg": Measure("DCG over ideal DCG", ("nDCG", "NDCG"), {"ndcg": _no_formula}, averages=True),
    "precision": _relevance_measure(
        "relevant documents within k, over k",
        ("P", "Precision"),
        {"precision": _precision},
        sums=_RELEVANT,
        averages=True,
    ),
    "recall": _relevance_measure(
        "relevant documents within k, over all relevant ones",
        ("R", "Recall"),
        {"recall": _recall},
        sums=_RELEVANT,
        averages=True,
        is_ratio=True,
    ),
    "ap": _relevance_measure(
        (
            "average precision: the precision at each relevant document within k, summed, "
            "over all relevant documents"
        ),
        ("AP", "MAP", "map"),
        {"ap": _average_precision},
        lists={"relevant_ranks": _sorted_values("relevant > 0", _rank)},
        is_ratio=True,
    ),
    "rr": _relevance_measure(
        "reciprocal rank of the first relevant document within k, otherwise 0",
        ("RR", "MRR", "mrr", "recip_rank"),
        {"rr": _reciprocal_rank},
        lists={"first_relevant": _first_relevant},
    ),
    "success": _relevance_measure(
        "1 if a relevant document is within k, otherwise 0",
        ("Success", "HitRate", "hit_rate", "HR"),
        {"success": _success},
        sums=_RELEVANT,
    ),
    "rbp": Measure(
        (
            "rank-biased precision: gain as a share of the highest grade, "
            "for a reader who continues to the next rank with probability p"
        ),
        ("RBP",),
        {"rbp": _rbp, "rbp_residual": _rbp_residual},
        ("worth", "unjudged"),
        sums={"weighted_worth": _weighted_worth, "weighted_unjudged": _weighted_unjudged},
        arguments={"p": "rbp_persistence"},
        averages=True,
    ),
    "err": Measure(
        "expected reciprocal rank of the document that satisfies the reader (Chapelle et al. 2009)",
        ("ERR",),
        {"err": _err},
        ("stop",),
        lists={"stops": _sorted_values("stop > 0", _stop)},
    ),
    "bpref": _relevance_measure(
        (
            "for each relevant document, "
            "how few judged documents that are not relevant are above it (as in trec_eval)"
        ),
        ("Bpref", "bpref"),
        {"bpref": _bpref},
        lists={"judged_ranks": _sorted_values("judged", _rank_and_relevance)},
        is_ratio=True,
        whole=True,
    ),
    "judged": Measure(
        "judged documents within k, over k",
        ("Judged",),
        {"judged_share": _judged_share},
        ("known",),
        sums={"known": None},
        averages=True,
    ),
    "recall_cap": _relevance_measure(
        "relevant documents within k, over k or the number of relevant documents, whichever is "
        "smaller (as in BEIR)",
        ("R_cap",),
        {"recall_cap": _capped_recall},
        sums=_RELEVANT,
        averages=True,
        is_ratio=True,
    ),
    "rprec": _relevance_measure(
        "R-precision: precision at R, the number of relevant documents",
        ("Rprec", "RPrec"),
        {"rprec": _r_precision},
        lists={"relevant_ranks": _sorted_values("relevant > 0", _rank)},
        is_ratio=True,
        whole=True,
    ),
    "novelty": _list_measure(
        "novelty",
        "how little known the items within k are: mean of -log2(the share of users of each)",
        _novelty,
        documents=("novelty_value", "novelty_counted"),
        sums={"novelty_value": None, "novelty_counted": None},
    ),
    "popularity": _list_measure(
        "popularity",
        "mean popularity of the items within k",
        _popularity,
        documents=("popularity_value", "popularity_counted"),
        sums={"popularity_value": None, "popularity_counted": None},
    ),
    "categories": _list_measure(
        "categories",
        "different categories of the items within k, over k",
        _categories,
        documents=("item_category",),
        lists={
            "ranked_categories": _sorted_values("item_category is not null", _rank_and_category),
        },
    ),
    "items": _run_measure("items", "different items within k in all lists of a run"),
    "coverage": _run_measure(
        "coverage", "share of the catalog's items that are within k in any of the run's lists"
    ),
    "gini": _run_measure(
        "gini",
        "Gini coefficient of how many lists of the run show each item: 0 if the numbers are equal",
    ),
    "personalization": _run_measure(
        "personalization",
        "1 - mean cosine of two lists of the run within k: 0 if all are the same",
    ),
}

#: The query columns of the measures other than NDCG, in the order of the tables.
COLUMNS = tuple(
    column
    for name, measure in MEASURES.items()
    if name != "ndcg" and measure.of != "run"
    for column in measure.values
)
#: The columns that only runs have.
RUN_COLUMNS = tuple(name for name, measure in MEASURES.items() if measure.of == "run")
#: The columns of the catalog measures, for which more is neither better nor worse.
CATALOG_COLUMNS = tuple(name for name, measure in MEASURES.items() if measure.of != "judgments")
#: The measures that need no table of items, unless an option says so.
_WITHOUT_ITEMS = ("items", "personalization")
#: The share of the returned documents that are judged; a check can limit it like a score.
JUDGED_RATE = "judged_rate"
#: The columns of QUERY_SCORES that can be compared.
SCORES = ("ndcg", "dcg", "ideal_dcg", "cg", *COLUMNS)


@dataclasses.dataclass(frozen=True)
class MeasureSet:
    """The measures that an evaluation computes, with their cutoffs and options."""

    #: Each measure at each of its cutoffs, such as `("precision", 5)`.
    pairs: tuple[tuple[str, Cutoff], ...] = ()
    #: The first measure in the list for which more is better, with its deepest cutoff.
    first: tuple[str, Cutoff] | None = None
    #: The options of the convention and of the catalog that the measures' arguments set.
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def headline(self, cutoffs: Iterable[Cutoff]) -> tuple[str, Cutoff]:
        """Return the main measure and its cutoff, by default NDCG at the deepest of `cutoffs`."""
        return self.first or ("ndcg", deepest_finite(cutoffs))

    def main_cutoff(self, column: str, cutoffs: Iterable[Cutoff]) -> Cutoff:
        """Return the default cutoff of a column of scores with values at these cutoffs.

        It is the headline's cutoff if the column is listed at that cutoff, or if the column is not
        listed but has a value at that cutoff. Otherwise it is the deepest rank.
        """
        available = set(cutoffs)
        asked = {cutoff for name, cutoff in self.pairs if MEASURES[name].column == column}
        listed = available & asked
        headline = self.first[1] if self.first else None
        if listed:
            return headline if headline in listed else deepest_finite(listed)
        if headline is not None and headline in available:
            return headline
        return deepest_finite(available)

    def cutoffs_for(self, *measures: str) -> list[Cutoff]:
        """Return the cutoffs of any of these measures, the whole ranking last."""
        return sorted({cutoff for name, cutoff in self.pairs if name in measures}, key=by_depth)

    @property
    def beside_ndcg(self) -> dict[str, Measure]:
        """The query measures other than NDCG."""
        asked = dict(self.pairs)
        found = {}
        for name, measure in MEASURES.items():
            if name in asked and name != "ndcg" and measure.of != "run":
                found[name] = measure
        return found

    @property
    def of_judgments(self) -> dict[str, Measure]:
        """The query measures other than NDCG that need judgments.

        All of them leave out the same queries.
        """
        beside = self.beside_ndcg
        return {name: measure for name, measure in beside.items() if measure.of == "judgments"}

    @property
    def of_catalog(self) -> dict[str, Measure]:
        """The catalog's measures, for lists and for runs."""
        asked = dict(self.pairs)
        return {name: MEASURES[name] for name in CATALOG_COLUMNS if name in asked}

    @property
    def only_of_catalog(self) -> "MeasureSet":
        """The same set without the measures that need judgments."""
        pairs = [pair for pair in self.pairs if pair[0] in CATALOG_COLUMNS]
        return MeasureSet(tuple(pairs), None, self.options)

    @property
    def of_runs(self) -> list[str]:
        """The measures of all lists of a run together."""
        return [name for name in RUN_COLUMNS if name in dict(self.pairs)]

    @property
    def of_items(self) -> list[str]:
        """The measures that need a table of items."""
        needing = [name for name in self.of_catalog if name not in _WITHOUT_ITEMS]
        if catalog.catalog_option(self.options, "gini_of") == "shown":
            needing = [name for name in needing if name != "gini"]
        return needing

    @property
    def convention_options(self) -> dict[str, str]:
        """The options of the convention that the measures' arguments set."""
        options = self.options.items()
        return {name: value for name, value in options if not catalog.is_catalog_option(name)}

    @property
    def needs_highest_grade(self) -> bool:
        """Whether a measure divides by the highest grade, as RBP and ERR do."""
        for measure in self.beside_ndcg.values():
            if "worth" in measure.documents or "stop" in measure.documents:
                return True
        return False

    @property
    def counts_relevant(self) -> bool:
        """Whether any measure depends only on whether a document is relevant.

        Such a measure ignores how relevant the document is.
        """
        return any("rel" in measure.arguments for measure in self.beside_ndcg.values())

    @property
    def metrics(self) -> set[tuple[str, Cutoff]]:
        """The columns of the measures, with their cutoffs."""
        return {(column, cutoff) for name, cutoff in self.pairs for column in MEASURES[name].values}

    @property
    def texts(self) -> list[str]:
        """The measures, each with its cutoff and arguments: `precision(rel=2)@5`."""
        texts = []
        for name, cutoff in self.pairs:
            texts.append(measure_at(name + arguments(name, self.options), cutoff))
        return texts

    @property
    def columns(self) -> list[str]:
        """The columns that the measures add to QUERY_SCORES and to DATASET_SCORES."""
        return [column for measure in self.beside_ndcg.values() for column in measure.values]

    @property
    def columns_of_means(self) -> list[str]:
        """The columns that the measures add to DATASET_SCORES."""
        return [*self.columns, *self.of_runs]


NDCG_ONLY = MeasureSet()


def conclusion_words(measure: str) -> tuple[str, str]:
    """Return the words for a lower and for a higher value of a measure."""
    if measure in CATALOG_COLUMNS:
        # More is neither better nor worse.
        return "lower", "higher"
    return "worse", "better"


def default_measures(*, has_items: bool, has_interactions: bool) -> list[str]:
    """Return the measures that `describe` computes by default: those that these tables allow.

    Interactions show how popular each item is. Categories are left out, because few tables have
    them.
    """
    if has_interactions:
        return ["novelty", "popularity", *RUN_COLUMNS]
    return list(RUN_COLUMNS if has_items else _WITHOUT_ITEMS)


def catalog_definitions(measure_set: MeasureSet, *, are_judged: bool = True) -> list[str]:
    """Return the definition of each catalog measure, and over which lists it is computed.

    With `are_judged`, there are judgments, and means are computed over the judged queries.
    """
    asked = measure_set.of_catalog
    sentences = []
    for name in asked:
        sentences.append(f"{name}: {catalog.definition_of(name, measure_set.options)}")
    if not asked:
        return sentences
    of_lists = [name for name in asked if name not in RUN_COLUMNS]
    populations = []
    if of_lists and are_judged:
        where = "the judged queries with a list (listed queries)"
        populations.append(f"{_and(of_lists)}: the mean over {where}")
        populations.append("describe computes it over all lists")
    elif of_lists:
        populations.append(f"{_and(of_lists)}: the mean over all lists")
    of_runs = measure_set.of_runs
    if of_runs:
        judged = ", judged or not" if are_judged else ""
        populations.append(f"{_and(of_runs)}: computed over all lists of the run{judged} (lists)")
    populations.append("more is neither better nor worse")
    return [*sentences, "; ".join(populations)]


def _and(names: list[str]) -> str:
    """Return the names as an enumeration, such as "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def arguments(measure: str, options: Mapping[str, str]) -> str:
    """Return the arguments of a measure that set these options, such as `(rel=2)`, or ""."""
    given = []
    for argument, option in MEASURES[measure].arguments.items():
        if option in options:
            given.append(f"{argument}={options[option]}")
    return f"({', '.join(given)})" if given else ""


def name_in_papers(measure: str, cutoff: Cutoff, options: Mapping[str, str]) -> str:
    """Return a measure as papers and ir_measures write it.

    For example, nDCG@10, P(rel=2)@20, and AP for the whole ranking.
    """
    name = MEASURES[measure].written[0] + arguments(measure, options)
    return name if cutoff is None else f"{name}@{cutoff}"


def measure_heading(measure: str, cutoff: Cutoff) -> str:
    """Return a measure and its cutoff as a heading: ndcg@10, ap@all.

    A measure that is computed only on the whole ranking has no cutoff: rprec.
    """
    is_whole = MEASURES[measure].whole
    return measure if is_whole else measure_at(measure, cutoff)
