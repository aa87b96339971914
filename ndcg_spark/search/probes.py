"""Finds what data must contain to distinguish two conventions.

Small lists with different properties are scored under both. The first list with two different
scores is the answer.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ndcg_spark import reference
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.reference import Returned
from ndcg_spark.search.trials import Trial

#: The answer if no list has two different scores.
NOTHING = "nothing: with the other options, both values have the same effect"
#: A list for the whole ranking is as long as one for this cutoff.
_WHOLE = 5
#: Every list's query.
_QUERY = "q"
#: Two scores that are different doubles, but the same 32-bit float.
_SCORE, _NEXT_SCORE = 16777216.0, 16777217.0


class Probe(NamedTuple):
    """A small list, and the property that may distinguish two conventions."""

    words: str
    #: Each judged document with its grade.
    judged: Sequence[tuple[str, float]]
    #: Each returned document with its score and its rank.
    returned: Sequence[Returned]


def separated_by(here: Trial, other: Trial, cutoffs: Sequence[Cutoff]) -> str:
    """Return what data must contain to distinguish two trials.

    `cutoffs` are the cutoffs that the job names.
    """
    if here.cutoff != other.cutoff:
        least = min(cutoff for cutoff in (here.cutoff, other.cutoff) if cutoff is not None)
        return f"relevant documents below rank {least}"
    bounds = _relevance_bounds(here, other)
    relevant_grade = max(bounds, default=1.0)
    for cutoff in cutoffs or [here.cutoff]:
        for probe in _probes(here, other, cutoff):
            for one in (probe, _with_grades(probe, relevant_grade), _below_another(probe)):
                if _score(one, here, cutoff) != _score(one, other, cutoff):
                    return one.words
    return NOTHING


def _relevance_bounds(here: Trial, other: Trial) -> list[float]:
    """Return the lowest relevant grades that the conventions set, ascending."""
    bounds = {here.convention.min_relevance, other.convention.min_relevance}
    return sorted(bound for bound in bounds if isinstance(bound, float))


def _with_grades(probe: Probe, relevant_grade: float) -> Probe:
    """Return the same list with larger grades, so that documents with grade 1 are relevant."""
    judged = []
    for document, grade in probe.judged:
        judged.append((document, grade * relevant_grade if grade > 0 else grade))
    return probe._replace(judged=judged)


def _below_another(probe: Probe) -> Probe:
    """Return the same list below another document.

    Some discounts are equal at the first two ranks.
    """
    returned: list[Returned] = [("f", 1e9, 1)] if probe.returned else []
    for document, score, rank in probe.returned:
        returned.append((document, score, (rank or 0) + 1))
    return probe._replace(judged=[*probe.judged, ("f", 0.0)], returned=returned)


def _score(probe: Probe, trial: Trial, cutoff: Cutoff) -> float | str | None:
    """Return a list's score, None if it is left out, or "refused"."""
    try:
        score = reference.score(_QUERY, probe.judged, probe.returned, trial.convention, cutoff)
    except (InputError, ConventionError):
        return "refused"
    return None if score.ndcg is None else round(score.ndcg, 9)


def _probes(here: Trial, other: Trial, cutoff: Cutoff) -> Iterator[Probe]:
    """Yield all lists. Those with several properties come after those with one."""
    depth = cutoff or _WHOLE
    yield from _grade_probes(_relevance_bounds(here, other))
    yield from _ideal_probes(depth)
    yield from _query_probes()
    yield from _order_probes()
    if "rank" in (here.convention.ties, other.convention.ties):
        yield from _ranked_tie_probes()
    else:
        yield from _tie_probes()
    yield from _float32_probes()
    yield from _odd_document_probes()
    yield from _repeated_document_probes()


def _grade_probes(bounds: Sequence[float]) -> Iterator[Probe]:
    """Yield lists with different grades, some of them below and above the `bounds`."""
    several = [("a", 3.0), ("b", 1.0), ("c", 2.0)]
    yield Probe("grades other than 0 and 1", several, _ranked("c", "b", "a"))
    yield Probe("a document of grade 0", [("a", 1.0), ("b", 0.0)], _ranked("b", "a"))
    if bounds:
        judged = [("a", bounds[0] / 2), ("b", bounds[0]), ("c", bounds[-1]), ("d", 0.0)]
        for order in ("abcd", "cbad", "dabc", "dcba"):
            yield Probe("more lists with grades below and above this one", judged, _ranked(*order))


def _ideal_probes(depth: int) -> Iterator[Probe]:
    """Yield lists with an ideal ranking that differs between the definitions of the ideal."""
    others = [f"x{at}" for at in range(depth)]
    judged = [("a", 2.0), ("b", 3.0)]
    yield Probe("a relevant document that is not returned", judged, _ranked("a", *others))
    short = "a list shorter than the cutoff that lacks a relevant document"
    yield Probe(short, [("a", 2.0), ("b", 2.0)], _ranked("a"))
    below = _ranked("a", *others[1:], "b")
    yield Probe("a relevant document below the cutoff", judged, below)
    few = "a query with fewer relevant documents than the cutoff"
    yield Probe(few, [("a", 1.0)], _ranked("x", "a"))


def _query_probes() -> Iterator[Probe]:
    """Yield queries that some conventions leave out or refuse."""
    yield Probe("a query without a relevant document", [("a", 0.0)], _ranked("a"))
    yield Probe("a list without a relevant document", [("a", 1.0)], _ranked("x"))
    yield Probe("a judged query without results", [("a", 1.0)], [])
    negative = "a query whose grades are all negative"
    yield Probe(negative, [("a", -1.0)], _ranked("a"))
    neither = "a query with neither results nor a relevant document"
    yield Probe(neither, [("a", 0.0)], [])


def _order_probes() -> Iterator[Probe]:
    """Yield lists in which the discount, or the choice between scores and ranks, matters."""
    judged = [("a", 1.0), ("b", 0.0)]
    yield Probe("a relevant document below the first rank", judged, _ranked("b", "a"))
    with_third = [*judged, ("c", 0.0)]
    yield Probe("a relevant document below the second rank", with_third, _ranked("b", "c", "a"))
    first_by_rank: Returned = ("a", 1.0, 1)
    first_by_score: Returned = ("b", 2.0, 2)
    words = "ranks that are not in the order of the scores"
    yield Probe(words, judged, [first_by_rank, first_by_score])


def _tie_probes() -> Iterator[Probe]:
    """Yield lists with equal scores in which the order of ids matters."""
    words = "documents with equal scores and different grades that the two order differently"
    yield from _probes_of_two(words, ("a", _SCORE, 1), ("b", _SCORE, 2))
    words = "equal scores of documents whose ids are numbers of two lengths"
    yield from _probes_of_two(words, ("9", _SCORE, 1), ("10", _SCORE, 2))


def _ranked_tie_probes() -> Iterator[Probe]:
    """Yield lists with equal scores in which ranks and ids give different orders."""
    words = "documents with equal scores whose ranks differ from the order that both give here"
    yield from _probes_of_two(words, ("a", _SCORE, 1), ("b", _SCORE, 2))
    yield from _probes_of_two(words, ("b", _SCORE, 1), ("a", _SCORE, 2))


def _float32_probes() -> Iterator[Probe]:
    """Yield lists with scores that differ only as doubles."""
    words = "scores that are equal only as floats of 32 bits"
    yield from _probes_of_two(words, ("a", _SCORE, 1), ("b", _NEXT_SCORE, 2))
    yield from _probes_of_two(words, ("b", _SCORE, 1), ("a", _NEXT_SCORE, 2))


def _probes_of_two(words: str, first: Returned, second: Returned) -> Iterator[Probe]:
    """Yield lists of the same two documents with all kinds of grades."""
    one, other = first[0], second[0]
    for grade_of_one, grade_of_other in ((2.0, 1.0), (1.0, 2.0), (1.0, 0.0), (0.0, 1.0)):
        yield Probe(words, [(one, grade_of_one), (other, grade_of_other)], [first, second])
    # Some gains do not distinguish grades, but all distinguish judged from unjudged documents.
    for judged in (one, other):
        yield Probe(words, [(judged, 1.0)], [first, second])


def _odd_document_probes() -> Iterator[Probe]:
    """Yield lists with a document that some conventions remove."""
    words = "an unjudged document above a judged one"
    yield Probe(words, [("a", 1.0)], _ranked("x", "a"))
    with_negative = [("a", 1.0), ("b", -1.0)]
    yield Probe("a negative grade", with_negative, _ranked("b", "a"))
    yield Probe("a negative grade", with_negative, _ranked("a", "b"))
    words = "a query that is returned as a document"
    yield Probe(words, [("a", 1.0)], _ranked(_QUERY, "a"))


def _repeated_document_probes() -> Iterator[Probe]:
    """Yield lists with a document that is returned or judged twice."""
    # The second row of b is first by score and last by rank.
    b_again: Returned = ("b", 0.0, 3)
    words = "a document that is returned twice"
    yield Probe(words, [("a", 1.0), ("b", 2.0)], [*_ranked("b", "a"), b_again])
    words = "a document that is judged twice"
    judged = [("a", 0.0), ("a", 3.0), ("b", 1.0)]
    yield Probe(words, judged, _ranked("b", "a"))
    yield Probe(words, judged, _ranked("a", "b"))


def _ranked(*documents: str) -> list[Returned]:
    """Return a list of these documents, the best first, with scores and ranks that agree."""
    return [(document, -float(rank), rank) for rank, document in enumerate(documents, start=1)]
