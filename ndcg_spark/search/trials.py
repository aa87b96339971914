"""A trial of the search: a convention and a cutoff."""

from typing import NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff


class Trial(NamedTuple):
    """A convention to try, at a cutoff."""

    convention: Convention
    #: The cutoff of all scores; unused if the job names the cutoffs of its scores.
    cutoff: Cutoff = None
