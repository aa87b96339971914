"""Builders for gates: nights, rows of COMPARISONS with numbers of scipy, and verdicts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ndcg_spark.gate.baseline import Baseline, Key, Night, key_of, refused_baseline
from ndcg_spark.gate.decision import decide
from scipy.special import stdtr, stdtrit

from ndcg_spark.config import validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.verdict import Verdict

TONIGHT, YESTERDAY, ANCHOR = "2026-11-20", "2026-11-19", "2026-11-01"


def gate(*checks: dict[str, Any], **settings: Any) -> GateConfig:
    """A gate of these checks, or of one that allows a drop of 0.01, against last_good."""
    checked = [{"cutoff": 10, **check} for check in checks or [{"max_drop": 0.01}]]
    found = validate(
        {
            "judgments": {"path": "qrels"},
            "results": {"path": "run"},
            "query_attributes": {"path": "attributes"},
            "query_weights": {"path": "weights"},
            "gate": {"baseline": [{"night": "last_good"}], **settings, "check": checked},
        },
        "test",
    ).gate
    assert found is not None
    return found


def night(date: str = TONIGHT, runs: Sequence[str] = ("hybrid",), ndcg: float = 0.6, **more: Any) -> Night:
    """A night with these runs at the cutoffs 5 and 10, of 100 queries."""
    scores = [{"run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 100} for run in runs for cutoff in (5, 10)]
    known = {"options": Convention().options(), "judgments": "j", "results": f"results of {date}", "scores": scores}
    return Night("web", date, f"id of {date}", **{**known, **more})


def spread(mean: float, deviation: float, queries: int = 100) -> np.ndarray:
    """Differences with exactly this mean and this standard deviation of the sample."""
    values = np.linspace(-1, 1, queries)
    return mean + deviation * (values - values.mean()) / values.std(ddof=1)


def row(differences: Sequence[float], baseline_mean: float = 0.6, **more: Any) -> dict[str, Any]:
    """A row of COMPARISONS for these differences per query; what the paired t-test says of them is scipy's."""
    d = np.asarray(differences, float)
    n, mean = len(d), float(d.mean()) if len(d) else None
    tested = dict.fromkeys(("p_value", "p_randomization", "interval_low", "interval_high", "minimum_detectable"))
    if n > 1 and d.std() > 0:
        error, wide = d.std(ddof=1) / np.sqrt(n), stdtrit(n - 1, 0.975)
        tested |= {
            "p_value": float(2 * stdtr(n - 1, -abs(mean / error))),
            "interval_low": float(mean - wide * error),
            "interval_high": float(mean + wide * error),
            "minimum_detectable": float((wide + stdtrit(n - 1, 0.8)) * error),
        }
    key = {"run": "hybrid", "measure": "ndcg", "cutoff": 10, "attribute": None, "value": None}
    found = {
        "queries": n,
        "unpaired_queries": 0,
        "large_losses": int((d <= -0.2).sum()),
        "lost": {0.2: int((d <= -0.2).sum())},
        "changed_queries": int((d != 0).sum()),
        "mean": None if mean is None else baseline_mean + mean,
        "baseline_mean": baseline_mean,
        "difference": mean,
        "flags": ["unchanged"] if n and not d.any() else [],
        "weight_effective_n": None,
    }
    if found["flags"]:
        tested["p_value"] = 1.0
    return {**key, **found, **tested, **more}


def against(
    gate: GateConfig, *rows: dict[str, Any], at: int = 0, tonight: Night | None = None, **more: Any
) -> Baseline:
    """A baseline of a gate, with these rows; its night is yesterday's, or the anchor's, unless told otherwise."""
    config = gate.baseline[at]
    found = None if config.run else night(YESTERDAY if config.is_good_night else str(config.night))
    known = {"night": found, **more}
    refused = refused_baseline(config, tonight or night(), known["night"])
    return Baseline(config, rows=rows, **{"refused": refused, **known})


def minimums(
    gate: GateConfig, tonight: Night | None = None, mean: float = 0.6, deviation: float = 0.1, n: int = 100, **more: Any
) -> dict[tuple[float, Key], dict[str, Any]]:
    """What each run of tonight is above every minimum of a gate, where the scores of n queries are so spread."""
    found = [
        (check.min_value, row(spread(mean - check.min_value, deviation, n), check.min_value, run=run, **key, **more))
        for check in gate.check
        if check.min_value is not None
        for run in (tonight or night()).runs
        for key in [dict(zip(("attribute", "value"), check.attribute_and_value, strict=True))]
    ]
    return {(minimum, key_of(each)): each for minimum, each in found}


def verdict(
    gate: GateConfig,
    *rows: dict[str, Any],
    tonight: Night | None = None,
    own: dict[str, Any] | None = None,
    **more: Any,
) -> Verdict:
    """The verdict of a gate with one baseline that has these rows; `own` as for `minimums`."""
    baselines = [against(gate, *rows, tonight=tonight, **more)] if gate.baseline else []
    return decide(gate, tonight or night(), baselines, minimums=minimums(gate, tonight, **(own or {})))
