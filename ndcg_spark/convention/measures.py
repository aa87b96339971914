"""What is measured: cutoffs, what each measure is and how it is computed, and which of them an evaluation computes.

A cutoff is the rank down to which lists are scored, from 1; None is the whole ranking. A new measure is one entry of
MEASURES. It is computed with SQL that every engine supports. The SQL uses

* for a document: `{rank}` and the columns that the entry names in `documents`,
* for a list: `{listed}`, whether a document counts on it; the names of `lists`; and `returned`, its length,
* for a query: `relevant_documents` and `other_documents`, how many judged documents are relevant and how many are not,
* for a cutoff: `{k}`; `{ranks}`, how many ranks that is, at least 1; the names of `sums` in braces; and `{whole}`,
  whether it is the whole ranking,
* the options of the convention, such as `{rbp_persistence}`.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

Cutoff = int | None

DEFAULT_CUTOFFS: tuple[Cutoff, ...] = (1, 3, 5, 10)


def format_cutoff(cutoff: Cutoff) -> str:
    return str(cutoff or "all")


def measure_at(measure: str, cutoff: Cutoff) -> str:
    """A measure at a cutoff, by its column: ndcg@10, ap@all."""
    return f"{measure}@{format_cutoff(cutoff)}"


def column_at(column: str, cutoff: Cutoff) -> str:
    """The name of a column at one cutoff: dcg_10, dcg_all."""
    return f"{column}_{format_cutoff(cutoff)}"


def by_depth(cutoff: Cutoff) -> tuple[bool, int]:
    """A sort key for cutoffs: ascending, the whole ranking last."""
    return cutoff is None, cutoff or 0


def by_run(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["dataset"], row["run"], *by_depth(row["cutoff"])


def deepest_finite(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The deepest of the cutoffs that is a rank; None, the whole ranking, if there is none."""
    return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)


@dataclasses.dataclass(frozen=True)
class Measure:
    words: str
    #: Its names in papers and tools; the first is that of ir_measures.
    written: tuple[str, ...]
    #: Its columns in both tables of scores, each with the SQL of its value at a cutoff; the first is the measure.
    values: Mapping[str, str]
    documents: tuple[str, ...] = ()
    sums: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lists: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The options of a convention that its arguments set: `P(rel=2)@5` sets relevant_from.
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether it is a sum over ranks, so that it can be averaged over ties.
    averages: bool = False
    #: Whether it divides by the number of relevant documents, so that it is undefined without any.
    is_ratio: bool = False
    whole: bool = False

    @property
    def column(self) -> str:
        return next(iter(self.values))


_relevance_measure = functools.partial(Measure, documents=("relevant",), arguments={"rel": "relevant_from"})
_RELEVANT = {"relevant": "relevant"}
#: A value of the documents of a list that meet a condition, in ascending order.
_collected = "sort_array(collect_list(if({{listed}} and {}, {}, null)))".format
#: The weight of a rank in RBP (Moffat and Zobel 2008).
_WEIGHT = "(1D - {rbp_persistence}D) * pow({rbp_persistence}D, cast({rank} - 1 as double))"
#: ERR: the probability that the reader reaches a document that may satisfy them, and the sum so far.
_CASCADE = """aggregate(filter(stops, document -> document.rank <= {k}), named_struct('reading', 1D, 'sum', 0D),
    (so_far, document) -> named_struct('reading', so_far.reading * (1D - document.stop),
                                       'sum', so_far.sum + so_far.reading * document.stop / document.rank)).sum"""
#: As trec_eval 9 computes it: going down the list, with the number of judged non-relevant documents so far.
_BPREF = """aggregate(judged_ranks, named_struct('others', 0D, 'sum', 0D),
    (so_far, code) -> named_struct('others', so_far.others + 1D - code % 2,
                                   'sum', so_far.sum + code % 2 * (1D - least(so_far.others, relevant_documents)
                                       / greatest(least(other_documents, relevant_documents), 1)))).sum"""

#: By name in the configuration, in the order of the tables.
MEASURES: dict[str, Measure] = {
    "ndcg": Measure("DCG over ideal DCG", ("nDCG", "NDCG"), {"ndcg": ""}, averages=True),
    "precision": _relevance_measure(
        "relevant documents within k, over k",
        ("P", "Precision"),
        {"precision": "{relevant} / {ranks}"},
        sums=_RELEVANT,
        averages=True,
    ),
    "recall": _relevance_measure(
        "relevant documents within k, over all relevant ones",
        ("R", "Recall"),
        {"recall": "{relevant} / greatest(relevant_documents, 1)"},
        sums=_RELEVANT,
        averages=True,
        is_ratio=True,
    ),
    "ap": _relevance_measure(
        "average precision: the precision at each relevant document within k, summed, over all relevant documents",
        ("AP", "MAP", "map"),
        # No rank is 0, but `/` fails on Sail with a division by zero if all lists of a batch are empty.
        {
            "ap": "aggregate(transform(filter(relevant_ranks, rank -> rank <= {k}), (rank, at) -> "
            "try_divide(at + 1, rank)), 0D, (so_far, term) -> so_far + term) / greatest(relevant_documents, 1)"
        },
        lists={"relevant_ranks": _collected("relevant > 0", "{rank}")},
        is_ratio=True,
    ),
    "rr": _relevance_measure(
        "reciprocal rank of the first relevant document within k, else 0",
        ("RR", "MRR", "mrr", "recip_rank"),
        {"rr": "if(first_relevant <= {k}, 1 / first_relevant, 0D)"},
        lists={"first_relevant": "min(if({listed} and relevant > 0, {rank}, null))"},
    ),
    "success": _relevance_measure(
        "1 if a relevant document is within k, else 0",
        ("Success", "HitRate", "hit_rate", "HR"),
        {"success": "if({relevant} > 0, 1D, 0D)"},
        sums=_RELEVANT,
    ),
    "rbp": Measure(
        "rank-biased precision: shares of the highest grade, for a reader who goes on with probability p at each rank",
        ("RBP",),
        {
            "rbp": "{weighted_worth}",
            # For the whole ranking, this includes what unjudged documents beyond its end could add, as in trec_eval.
            "rbp_residual": "{weighted_unjudged} + if({whole} and {weighted_unjudged} > 0, "
            "pow({rbp_persistence}D, cast(returned as double)), 0D)",
        },
        ("worth", "unjudged"),
        sums={"weighted_worth": f"{_WEIGHT} * worth", "weighted_unjudged": f"{_WEIGHT} * unjudged"},
        arguments={"p": "rbp_persistence"},
        averages=True,
    ),
    "err": Measure(
        "expected reciprocal rank of the document that satisfies the reader (Chapelle et al. 2009)",
        ("ERR",),
        {"err": _CASCADE},
        ("stop",),
        lists={"stops": _collected("stop > 0", "named_struct('rank', {rank}, 'stop', stop)")},
    ),
    "bpref": _relevance_measure(
        "for each relevant document, how few judged documents that are not relevant stand above it (trec_eval's)",
        ("Bpref", "bpref"),
        {"bpref": f"{_BPREF} / greatest(relevant_documents, 1)"},
        # Twice the rank of each judged document, and one more if it is relevant.
        lists={"judged_ranks": _collected("judged", "{rank} * 2 + cast(relevant as int)")},
        is_ratio=True,
        whole=True,
    ),
    "judged": Measure(
        "judged documents within k, over k",
        ("Judged",),
        {"judged_share": "{known} / {ranks}"},
        ("known",),
        sums={"known": "known"},
        averages=True,
    ),
}

#: The columns of the measures besides NDCG, in the order of the tables.
COLUMNS = tuple(column for name, measure in MEASURES.items() if name != "ndcg" for column in measure.values)
#: The columns of QUERY_SCORES that can be compared.
SCORES = ("ndcg", "dcg", "ideal_dcg", "cg", *COLUMNS)


@dataclasses.dataclass(frozen=True)
class MeasureSet:
    pairs: tuple[tuple[str, Cutoff], ...] = ()
    #: The first measure in the list; without a cutoff of its own, at the deepest finite one.
    first: tuple[str, Cutoff] | None = None
    #: The options of the convention that arguments of the measures set.
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def headline(self, cutoffs: Iterable[Cutoff]) -> tuple[str, Cutoff]:
        return self.first or ("ndcg", deepest_finite(cutoffs))

    def main_cutoff(self, column: str, cutoffs: Iterable[Cutoff]) -> Cutoff:
        """The default cutoff of a column of scores with values at these cutoffs.

        It is the headline's if the column is listed there, or is not listed and that is a rank; else the deepest rank.
        """
        available = set(cutoffs)
        listed = available & {cutoff for name, cutoff in self.pairs if MEASURES[name].column == column}
        headline = self.first[1] if self.first else None
        is_default = headline in listed if listed else headline is not None and headline in available
        return headline if is_default else deepest_finite(listed or available)

    def cutoffs_for(self, *measures: str) -> list[Cutoff]:
        return sorted({cutoff for name, cutoff in self.pairs if name in measures}, key=by_depth)

    @property
    def beside_ndcg(self) -> dict[str, Measure]:
        return {name: measure for name, measure in MEASURES.items() if name != "ndcg" and name in dict(self.pairs)}

    @property
    def needs_highest_grade(self) -> bool:
        return any({"worth", "stop"} & {*measure.documents} for measure in self.beside_ndcg.values())

    @property
    def counts_relevant(self) -> bool:
        """Whether a measure asks which documents are relevant, and not how good they are."""
        return any("rel" in measure.arguments for measure in self.beside_ndcg.values())

    @property
    def metrics(self) -> set[tuple[str, Cutoff]]:
        """The columns of the measures, with their cutoffs."""
        return {(column, cutoff) for name, cutoff in self.pairs for column in MEASURES[name].values}

    @property
    def texts(self) -> list[str]:
        """The measures, each with its cutoff and arguments: `precision(rel=2)@5`."""
        return [f"{name}{arguments(name, self.options)}@{format_cutoff(cutoff)}" for name, cutoff in self.pairs]

    @property
    def columns(self) -> list[str]:
        return [column for measure in self.beside_ndcg.values() for column in measure.values]


NDCG_ONLY = MeasureSet()


def arguments(measure: str, options: Mapping[str, str]) -> str:
    """The arguments of a measure that set these options, in parentheses: `(rel=2)`; empty if there are none."""
    takes = MEASURES[measure].arguments.items()
    given = ", ".join(f"{short}={options[option]}" for short, option in takes if option in options)
    return f"({given})" if given else ""


def published(measure: str, cutoff: Cutoff, options: Mapping[str, str]) -> str:
    """A measure as papers and ir_measures write it: nDCG@10, P(rel=2)@20, and AP for the whole ranking."""
    name = MEASURES[measure].written[0] + arguments(measure, options)
    return name if cutoff is None else f"{name}@{cutoff}"


def written(measure: str, cutoff: Cutoff) -> str:
    """A measure and its cutoff as a heading: ndcg@10, and ap for the whole ranking."""
    is_whole = MEASURES[measure].whole
    return measure if is_whole else measure_at(measure, cutoff)
