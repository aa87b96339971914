"""The command `conventions`: the presets, one of them, or all of them side by side on somebody's data."""

from typing import Annotated

import typer

from ndcg_spark.convention.description import describe_preset, list_presets_and_options
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.options import EngineName, InputFormat, Json, OutputFormat
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import printing


def show_conventions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A preset, for its options and formula.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."),
    ] = None,
    cutoffs: Annotated[str | None, typer.Option(help="Ranks of the comparison, and all. [default: 10]")] = None,
    measures: Annotated[str | None, typer.Option(help="What is compared, e.g. nDCG@10 P@5 AP. [default: ndcg]")] = None,
    input_format: InputFormat = None,
    format_: OutputFormat = None,
    json_: Json = False,
    engine: EngineName = None,
) -> None:
    """List the presets, explain one, or compare all on your data."""
    if compare is not None and name is not None:
        raise ConfigurationError(f"arguments: --compare scores under every preset, not only {name}; give one of them")
    if compare is None and any((cutoffs, measures, input_format, format_, json_, engine)):
        raise ConfigurationError(
            "arguments: --cutoffs, --measures, --engine and --format need a comparison; give --compare too"
        )
    if compare is not None:
        from ndcg_spark.config import validate
        from ndcg_spark.job.compare_presets import compare_presets
        from ndcg_spark.report import formats
        from ndcg_spark.report.terminal import Progress

        style = formats.chosen(format_, json_)
        judgments, results = ({"path": path, "format": input_format} for path in compare)
        ranks = cutoffs or (None if measures else "10")
        given = {"cutoffs": ranks, "measures": measures, "engine": engine}
        settings = {"judgments": judgments, "results": results, **{k: v for k, v in given.items() if v is not None}}
        config = validate(settings, "arguments")
        with Progress(silent(style)).running() as progress:
            rows = compare_presets(config, progress.tell)
        with printing():
            formats.print_comparison(rows, style, config.measure_set)
    elif name is not None:
        say(describe_preset(name))
    else:
        say(list_presets_and_options())
