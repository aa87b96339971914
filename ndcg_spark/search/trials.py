"""What is tried."""

from typing import NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff


class Trial(NamedTuple):
    """What is tried: a convention, and a cutoff where the job does not say its own."""

    convention: Convention
    cutoff: Cutoff = None
