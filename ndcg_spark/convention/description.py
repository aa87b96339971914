"""What `ndcg-spark conventions` prints: the presets and options, and one preset in words and in mathematics."""

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import MEASURES, Measure
from ndcg_spark.convention.options import DISCOUNTS, GAINS, OPTIONS, choices, describe, show
from ndcg_spark.convention.presets import PRESETS

_LARGEST = "IDCG@k = sum over r = 1..{} of w(r) * (the r-th largest g(d) of all {})"
#: The ideal DCG in mathematical notation, by the option `ideal`.
_IDEALS = {
    "judged": _LARGEST.format("k", "judged d"),
    "retrieved": _LARGEST.format("k", "returned d"),
    "judged_capped": _LARGEST.format("min(k, n)", "judged d") + ", n the number of returned d",
    "k_relevant": "IDCG@k = sum over r = 1..k of w(r)",
}


def list_presets_and_options() -> list[str]:
    """Every preset with its tool and the version it was verified with, then every option with its values."""
    width = max(map(len, PRESETS))
    presets = (
        (f"{name:<{width}}  {preset.tool}", f"{'':<{width}}  verified with {preset.verified}")
        for name, preset in PRESETS.items()
    )
    return [
        *(line for lines in presets for line in lines),
        "",
        "Options and their values, the default first; change one with --set option=value",
        *(f"  {option:<26}{choices(option)}" for option in OPTIONS),
        "",
        "Measures: the first name stands for every cutoff, the second, as in papers, for the cutoff after its @",
        *(f"  {name:<11}{_written(measure):<21}{measure.words}" for name, measure in MEASURES.items()),
    ]


def describe_preset(name: str) -> list[str]:
    """The lines about a preset: tool, formula, options, differences from `standard`, and what it does not reproduce."""
    chosen, preset = Convention.preset(name), PRESETS[name]
    return [
        f"{name}: {preset.tool}",
        f"verified with {preset.verified}",
        "",
        "In words",
        *(f"  {part}" for part in chosen.formula.split("; ")),
        "",
        "In mathematical notation (d a document, rel its grade, d_r the document at rank r from 1, q a query)",
        *(f"  {line}" for line in mathematics(chosen)),
        "",
        "Options",
        *(f"  {option:<26}{show(getattr(chosen, option))}" for option in OPTIONS),
        "",
        "Differs from standard in",
        *(f"  {difference}" for difference in differences(chosen, Convention()) or ["nothing: it is the default"]),
        "",
        "Not reproduced, deliberately",
        *(f"  {behaviour}" for behaviour in preset.not_reproduced or ("nothing known",)),
    ]


def mathematics(convention: Convention) -> list[str]:
    """The definition in mathematical notation, line by line."""
    c, gain, discount = convention, show(convention.gain), show(convention.discount)
    least = f"rel(d) = [grade of d >= {show(c.min_relevance)}], but a negative grade is unchanged"
    expected = ", expected over all orders of equal scores" if c.ties == "average" else ""
    return [
        *([] if c.min_relevance == "none" else [least]),
        f"g(d) = {GAINS[gain].notation if gain in GAINS else gain}",
        f"w(r) = {DISCOUNTS[discount].notation if discount in DISCOUNTS else discount}",
        f"DCG@k = sum over r = 1..k of g(d_r) * w(r){expected}",
        _IDEALS[c.ideal],
        "NDCG@k = DCG@k / IDCG@k,  ndcg = mean of NDCG@k over q,  ndcg_pooled = sum of DCG@k / sum of IDCG@k",
    ]


def differences(convention: Convention, other: Convention) -> list[str]:
    """The options in which a convention differs from another, each with its value and its meaning in words."""
    values = {option: getattr(convention, option) for option in OPTIONS}
    changed = {option: value for option, value in values.items() if value != getattr(other, option)}
    return [f"{option}={show(value)}: {describe(option, value)}".rstrip(": ") for option, value in changed.items()]


def _written(measure: Measure) -> str:
    """A measure as papers write it: P(rel=2)@10."""
    arguments = ", ".join(f"{short}=..." for short in measure.arguments)
    return f"{measure.written[0]}{f'({arguments})' if arguments else ''}{'' if measure.whole else '@10'}"
