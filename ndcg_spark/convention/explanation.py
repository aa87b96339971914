"""The description of a preset that `conventions NAME` prints."""

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import MEASURES, Measure
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.convention.values import choices, show


def list_presets_and_options() -> list[str]:
    """Every preset with its tool and the version it was compared with, then every option with the values it takes."""
    width = max(map(len, PRESETS))
    presets = (
        (f"{name:<{width}}  {preset.tool}", f"{'':<{width}}  verified with {preset.verified}")
        for name, preset in PRESETS.items()
    )
    return [
        *(line for lines in presets for line in lines),
        "",
        "Options, each with its values, the default first; change one with --set option=value",
        *(f"  {option:<26}{choices(option)}" for option in OPTIONS),
        "",
        "Measures, at every cutoff by their first name, or as the field writes them, each at its own",
        *(f"  {name:<11}{_written(measure):<21}{measure.words}" for name, measure in MEASURES.items()),
    ]


def explain_preset(name: str) -> list[str]:
    """The lines about a preset: tool, formula, options, what differs from `standard`, what is not reproduced."""
    chosen, standard = Convention.preset(name), Convention()
    preset = PRESETS[name]
    differences = chosen.differences(standard) or ["nothing: it is the default"]
    return [
        f"{name}: {preset.tool}",
        f"verified with {preset.verified}",
        "",
        "In words",
        *(f"  {part}" for part in chosen.formula.split("; ")),
        "",
        "In mathematical notation (d a document, rel its grade, d_r the document at rank r from 1, q a query)",
        *(f"  {line}" for line in chosen.mathematics),
        *(f"  {measure.notation}" for name, measure in MEASURES.items() if name != "ndcg"),
        "",
        "Options",
        *(f"  {option:<26}{show(getattr(chosen, option))}" for option in OPTIONS),
        "",
        "Differs from standard in",
        *(f"  {difference}" for difference in differences),
        "",
        "Not reproduced, deliberately",
        *(f"  {behaviour}" for behaviour in preset.not_reproduced or ("nothing known",)),
    ]


def _written(measure: Measure) -> str:
    """As the field writes a measure: P(rel=2)@10."""
    arguments = ", ".join(f"{short}=..." for short, option in measure.arguments.items())
    return f"{measure.written[0]}{f'({arguments})' if arguments else ''}{'' if measure.whole else '@10'}"
