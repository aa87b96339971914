"""Which nights have to be scored under other judgments before a verdict."""

from collections.abc import Sequence

from ndcg_spark.comparison.baselines import good_nights, has_options_of
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.nights.log import Night


def needed_copies(
    gate: GateConfig,
    tonight: Night,
    nights: Sequence[Night],
) -> list[tuple[Night, str]]:
    """The nights, and the judgments under which each is needed.

    Where the newest good night has other judgments than tonight: the newest good nights under
    tonight's, and tonight and the others of them under those of the newest.
    """
    own = tonight.row["judgments_fingerprint"]
    good = [night for night in good_nights(nights, tonight) if has_options_of(night, tonight)]
    newest = good[-gate.nights :]
    if not own or not newest:
        return []
    theirs = newest[-1].row["judgments_fingerprint"]
    if not theirs or theirs == own:
        return []
    needed = [(night, own) for night in newest if night.row["judgments_fingerprint"] != own]
    for night in [*newest, tonight]:
        if night.row["judgments_fingerprint"] != theirs:
            needed.append((night, theirs))
    return needed
