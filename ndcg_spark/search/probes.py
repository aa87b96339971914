"""What data must contain to distinguish two conventions: small lists that they score
differently.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ndcg_spark import reference
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.reference import Returned
from ndcg_spark.search.trials import Trial

#: The answer if no list gets two scores.
NOTHING = "nothing: with the other options, both values have the same effect"
#: A list for the whole ranking is as long as one for this cutoff.
_WHOLE = 5
_QUERY = "q"


class Probe(NamedTuple):
    """A list of the query `q`, and what it has that other data lack."""

    words: str
    judged: Sequence[tuple[str, float]]
    returned: Sequence[Returned]


def separated_by(here: Trial, other: Trial, cutoffs: Sequence[Cutoff]) -> str:
    """What data must contain to distinguish two trials; `cutoffs` are those that the job names."""
    if here.cutoff != other.cutoff:
        return f"relevant documents below rank {_least(here.cutoff, other.cutoff)}"
    least = _least_grade(here, other)
    for cutoff in cutoffs or [here.cutoff]:
        for probe in _probes(here, other, cutoff):
            for one in (probe, _with_grades(probe, least), _below_another(probe)):
                if _score(one, here, cutoff) != _score(one, other, cutoff):
                    return one.words
    return NOTHING


def _least_grade(here: Trial, other: Trial) -> float:
    """The lowest grade at which documents are relevant under both conventions."""
    bounds = (here.convention.min_relevance, other.convention.min_relevance)
    return max([bound for bound in bounds if isinstance(bound, float)], default=1.0)


def _with_grades(probe: Probe, least: float) -> Probe:
    """The same list, with relevant documents of at least this grade."""
    judged = [(document, grade * least if grade > 0 else grade) for document, grade in probe.judged]
    return probe._replace(judged=judged)


def _least(a: Cutoff, b: Cutoff) -> int:
    return min(cutoff for cutoff in (a, b) if cutoff is not None)


def _below_another(probe: Probe) -> Probe:
    """The same list from the second rank on, because some discounts are equal for the first two."""
    first: list[Returned] = [("f", 1e9, 1)] if probe.returned else []
    others: list[Returned] = [
        (document, score, (rank or 0) + 1) for document, score, rank in probe.returned
    ]
    return probe._replace(judged=[*probe.judged, ("f", 0.0)], returned=first + others)


def _score(probe: Probe, trial: Trial, cutoff: Cutoff) -> float | str | None:
    """The score of a list, None if it is left out, or a word if it is refused."""
    try:
        score = reference.score(_QUERY, probe.judged, probe.returned, trial.convention, cutoff)
    except (InputError, ConventionError):
        return "refused"
    return None if score.ndcg is None else round(score.ndcg, 9)


def _probes(here: Trial, other: Trial, cutoff: Cutoff) -> Iterator[Probe]:
    """Every probe; those with several properties come after those with one."""
    depth = cutoff or _WHOLE
    yield from _of_grades(here, other)
    yield from _of_ideals(depth)
    yield from _of_queries()
    yield from _of_orders()
    if "rank" in (here.convention.ties, other.convention.ties):
        yield from _of_ranked_ties()
    else:
        yield from _of_ties()
    yield from _of_odd_rows()


def _of_grades(here: Trial, other: Trial) -> Iterator[Probe]:
    several = [("a", 3.0), ("b", 1.0), ("c", 2.0)]
    yield Probe("grades other than 0 and 1", several, _ranked("c", "b", "a"))
    yield Probe("a document of grade 0", [("a", 1.0), ("b", 0.0)], _ranked("b", "a"))
    bounds = (here.convention.min_relevance, other.convention.min_relevance)
    grades = sorted({bound for bound in bounds if isinstance(bound, float)})
    if grades:
        judged = [("a", grades[0] / 2), ("b", grades[0]), ("c", grades[-1]), ("d", 0.0)]
        for order in ("abcd", "cbad", "dabc", "dcba"):
            yield Probe("more lists with grades below and above this one", judged, _ranked(*order))


def _of_ideals(depth: int) -> Iterator[Probe]:
    others = [f"x{at}" for at in range(depth)]
    judged = [("a", 2.0), ("b", 3.0)]
    yield Probe("a relevant document that is not returned", judged, _ranked("a", *others))
    short = "a list shorter than the cutoff that lacks a relevant document"
    yield Probe(short, [("a", 2.0), ("b", 2.0)], _ranked("a"))
    below = _ranked("a", *others[1:], "b")
    yield Probe("a relevant document below the cutoff", judged, below)
    few = "a query with fewer relevant documents than the cutoff"
    yield Probe(few, [("a", 1.0)], _ranked("x", "a"))


def _of_queries() -> Iterator[Probe]:
    yield Probe("a query without a relevant document", [("a", 0.0)], _ranked("a"))
    yield Probe("a list without a relevant document", [("a", 1.0)], _ranked("x"))
    yield Probe("a judged query without results", [("a", 1.0)], [])
    negative = "a query whose grades are all negative"
    yield Probe(negative, [("a", -1.0)], _ranked("a"))
    both = "a query with neither results nor a relevant document"
    yield Probe(both, [("a", 0.0)], [])


def _of_orders() -> Iterator[Probe]:
    judged = [("a", 1.0), ("b", 0.0)]
    yield Probe("a relevant document below the first rank", judged, _ranked("b", "a"))
    third = [*judged, ("c", 0.0)]
    yield Probe("a relevant document below the second rank", third, _ranked("b", "c", "a"))
    swapped = [("a", 1.0, 1), ("b", 2.0, 2)]
    yield Probe("ranks that are not in the order of the scores", judged, swapped)


def _of_ties() -> Iterator[Probe]:
    words = "documents with equal scores and different grades that the two order differently"
    yield from _tied(words, "a", "b")
    yield from _tied("equal scores of documents whose ids are numbers of two lengths", "9", "10")


def _of_ranked_ties() -> Iterator[Probe]:
    words = "documents with equal scores whose ranks differ from the order that both give here"
    yield from _tied(words, "a", "b")
    yield from _tied(words, "b", "a")


def _tied(words: str, first: str, second: str, apart: float = 0.0) -> Iterator[Probe]:
    """Two documents whose scores differ by `apart`; each of them may be the better one."""
    returned = [(first, 16777216.0, 1), (second, 16777216.0 + apart, 2)]
    for one, other in ((2.0, 1.0), (1.0, 2.0), (1.0, 0.0), (0.0, 1.0)):
        yield Probe(words, [(first, one), (second, other)], returned)
    # Some gains do not distinguish grades, but all distinguish judged from unjudged documents.
    for judged in (first, second):
        yield Probe(words, [(judged, 1.0)], returned)


def _of_odd_rows() -> Iterator[Probe]:
    yield from _tied("scores that are equal only as floats of 32 bits", "a", "b", 1.0)
    yield from _tied("scores that are equal only as floats of 32 bits", "b", "a", 1.0)
    unjudged = "an unjudged document above a judged one"
    yield Probe(unjudged, [("a", 1.0)], _ranked("x", "a"))
    negative = [("a", 1.0), ("b", -1.0)]
    yield Probe("a negative grade", negative, _ranked("b", "a"))
    yield Probe("a negative grade", negative, _ranked("a", "b"))
    itself = "a query that is returned as a document"
    yield Probe(itself, [("a", 1.0)], _ranked(_QUERY, "a"))
    returned_twice = "a document that is returned twice"
    yield Probe(returned_twice, [("a", 1.0), ("b", 2.0)], [*_ranked("b", "a"), ("b", 0.0, 3)])
    judged_twice = [("a", 0.0), ("a", 3.0), ("b", 1.0)]
    yield Probe("a document that is judged twice", judged_twice, _ranked("b", "a"))
    yield Probe("a document that is judged twice", judged_twice, _ranked("a", "b"))


def _ranked(*documents: str) -> list[Returned]:
    """These documents, the best first."""
    return [(document, -float(rank), rank) for rank, document in enumerate(documents, start=1)]
