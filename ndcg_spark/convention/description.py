"""What `ndcg-spark conventions` prints: the presets and options, and one preset in words."""

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import MEASURES, Measure
from ndcg_spark.convention.options import OPTIONS, choices, describe, show
from ndcg_spark.convention.presets import PRESETS


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
        "Options",
        *(f"  {option:<26}{show(getattr(chosen, option))}" for option in OPTIONS),
        "",
        "Differs from standard in",
        *(f"  {difference}" for difference in differences(chosen, Convention()) or ["nothing: it is the default"]),
        "",
        "Not reproduced, deliberately",
        *(f"  {behaviour}" for behaviour in preset.not_reproduced or ("nothing known",)),
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
