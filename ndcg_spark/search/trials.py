"""A trial of the search."""

from typing import NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff


class Trial(NamedTuple):
    """A convention to try, and a cutoff if the job does not name its own."""

    convention: Convention
    cutoff: Cutoff = None
