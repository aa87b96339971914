"""The measures that are computed beside NDCG: what each is, and at which cutoffs it was asked for.

Whoever adds a measure adds an entry of MEASURES here, and its formula to `scoring.companions`.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from ndcg_spark.convention.cutoffs import Cutoff, deepest_finite, order_of


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure: in words, in mathematical notation, and as the field writes it."""

    words: str
    notation: str
    #: Its names in the field, the first as ir_measures has it.
    written: tuple[str, ...]
    #: Its column in both tables of scores.
    column: str
    #: The options of a convention that its arguments set: `P(rel=2)@5` sets relevant_from.
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether it is a sum over ranks, which has an expectation where ties are averaged.
    averages: bool = False
    #: What is computed with it, in a column of its own.
    beside: str | None = None
    #: Whether it is of the whole ranking only, at no cutoff.
    whole: bool = False


_REL = {"rel": "relevant_from"}

#: By the name that the configuration has for it.
MEASURES: dict[str, Measure] = {
    "ndcg": Measure("DCG over ideal DCG", "DCG@k / IDCG@k", ("nDCG", "NDCG"), "ndcg", averages=True),
    "precision": Measure(
        "relevant documents within k, over k",
        "P@k = (relevant within k) / k",
        ("P", "Precision"),
        "precision",
        _REL,
        averages=True,
    ),
    "recall": Measure(
        "relevant documents within k, over all relevant ones",
        "R@k = (relevant within k) / R, R the relevant documents that are judged",
        ("R", "Recall"),
        "recall",
        _REL,
        averages=True,
    ),
    "ap": Measure(
        "average precision: the precision at each relevant document within k, summed, over all relevant documents",
        "AP@k = sum over relevant ranks r <= k of P@r / R",
        ("AP", "MAP", "map"),
        "ap",
        _REL,
    ),
    "rr": Measure(
        "reciprocal rank of the first relevant document within k, else 0",
        "RR@k = 1 / (first relevant rank <= k)",
        ("RR", "MRR", "mrr"),
        "rr",
        _REL,
    ),
    "success": Measure(
        "1 if a relevant document is within k, else 0",
        "Success@k = [relevant within k > 0]",
        ("Success",),
        "success",
        _REL,
    ),
    "rbp": Measure(
        "rank-biased precision: shares of the highest grade, for a reader who goes on with probability p at each rank",
        "RBP@k = sum over r = 1..k of (1 - p) p^(r - 1) rel(d_r) / max_grade, and its residual for the unjudged ones",
        ("RBP",),
        "rbp",
        {"p": "rbp_persistence"},
        averages=True,
        beside="rbp_residual",
    ),
    "err": Measure(
        "expected reciprocal rank of the document that satisfies the reader (Chapelle et al. 2009)",
        "ERR@k = sum over r = 1..k of S_r / r * product over i < r of (1 - S_i), S = (2^rel - 1) / 2^max_grade",
        ("ERR",),
        "err",
    ),
    "bpref": Measure(
        "for each relevant document, how few judged documents that are not relevant stand above it (trec_eval's)",
        "bpref = sum over relevant d of 1 - min(n_d, R) / min(N, R), over R; n_d of the N others are above d",
        ("Bpref", "bpref"),
        "bpref",
        _REL,
        whole=True,
    ),
    "judged": Measure(
        "judged documents within k, over k",
        "Judged@k = (judged within k) / k",
        ("Judged",),
        "judged_share",
        averages=True,
    ),
}

#: The columns of the measures beside NDCG, in the order of the tables.
COLUMNS = (
    *("precision", "recall", "ap", "rr", "success", "rbp", "rbp_residual", "err", "bpref", "judged_share"),
    *("ndcg_low", "ndcg_high"),
)

#: The columns of the bounds of NDCG.
BOUNDS = ("ndcg_low", "ndcg_high")

#: The measures that look at how high a grade is, and need to know the highest.
GRADED = ("rbp", "err")


@dataclasses.dataclass(frozen=True)
class Asked:
    """Which measures are asked for, at which cutoffs, in the order in which they were named."""

    pairs: tuple[tuple[str, Cutoff], ...] = ()
    #: Whether the lowest and the highest NDCG are asked for that unjudged documents allow.
    bounds: bool = False
    #: The first of them as it was named: one that is asked for at every cutoff stands for its deepest finite one.
    first: tuple[str, Cutoff] | None = None

    def headline(self, cutoffs: Iterable[Cutoff]) -> tuple[str, Cutoff]:
        """The measure and the cutoff that runs are ordered by, and that a report, a trend and a list of nights show.

        It is the first that was asked for; if none was, NDCG at the deepest of these cutoffs that is a rank.
        """
        return self.first or ("ndcg", deepest_finite(cutoffs))

    def main_cutoff(self, column: str, cutoffs: Iterable[Cutoff]) -> Cutoff:
        """The cutoff that stands for a column of scores, of those at which it has values, where none is named.

        That is the headline's if the column was asked for there, or at no cutoff and the headline's is a rank; else the
        deepest finite one.
        """
        known = set(cutoffs)
        own = known & {cutoff for name, cutoff in self.pairs if MEASURES[name].column == column}
        headline = self.first[1] if self.first else None
        stands = headline in own if own else headline is not None and headline in known
        return headline if stands else deepest_finite(own or known)

    def cutoffs_of(self, *measures: str) -> list[Cutoff]:
        """The cutoffs at which any of these measures is asked for, ascending, the whole ranking last."""
        return sorted({cutoff for name, cutoff in self.pairs if name in measures}, key=order_of)

    def has(self, *measures: str) -> bool:
        """Whether any of these measures is asked for at any cutoff."""
        return any(name in measures for name, _ in self.pairs)

    @property
    def companions(self) -> list[str]:
        """The measures beside NDCG that are asked for, in the order of MEASURES."""
        return [name for name in MEASURES if name != "ndcg" and self.has(name)]

    @property
    def columns(self) -> list[str]:
        """The columns of these in the tables of scores, in the order of COLUMNS."""
        measures = [MEASURES[name] for name in self.companions]
        bounds = BOUNDS if self.bounds else ()
        return [c for c in COLUMNS if c in bounds or any(c in (each.column, each.beside) for each in measures)]


#: NDCG alone.
NOTHING_ELSE = Asked()


def published(measure: str, cutoff: Cutoff) -> str:
    """A measure and its cutoff as papers and ir_measures write them: nDCG@10, P@20, and AP for the whole ranking."""
    name = MEASURES[measure].written[0]
    return name if cutoff is None else f"{name}@{cutoff}"


def written(measure: str, cutoff: Cutoff) -> str:
    """A measure and its cutoff as a heading: ndcg@10, and ap for the whole ranking."""
    shown = MEASURES[measure]
    return measure if shown.whole else f"{measure}@{cutoff or 'all'}"
