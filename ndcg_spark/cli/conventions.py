"""The command `conventions`: the presets, one of them, or all of them side by side on your data."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.convention.description import describe_preset, list_presets_and_options
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import echo


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[NAME]", help="A preset, to show its options and formula.")
@click.option(
    "--compare", nargs=2, metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."
)
@click.option("--cutoffs", metavar="RANK[,...]", help="Ranks of the comparison, and 'all'. [default: 10]")
@click.option("--measures", metavar="MEASURE[,...]", help="Measures to compare, e.g. nDCG@10 P@5 AP. [default: ndcg]")
@options.input_format
@options.output_format(*options.FORMATS)
@options.config_engine
def conventions(
    name: str | None, compare: tuple[str, str] | None, style: str, input_format: str | None, **arguments: Any
) -> None:
    """List the presets, explain one, or compare all on your data."""
    settings = {option: value for option, value in arguments.items() if value is not None}
    if compare is None:
        if style != "table" or settings or input_format:
            raise ConfigurationError(
                "arguments: --cutoffs, --measures, --input-format, --engine and --format are for comparisons; add "
                "--compare"
            )
        echo(list_presets_and_options() if name is None else describe_preset(name))
        return
    if name is not None:
        raise ConfigurationError(f"arguments: --compare scores under every preset, not only {name}; give one of them")
    from ndcg_spark.config import validate
    from ndcg_spark.job.compare_presets import compare_presets
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.scores import print_presets

    judgments, results = ({"path": path, "format": input_format} for path in compare)
    default = {} if "measures" in settings else {"cutoffs": "10"}
    config = validate({**default, **settings, "judgments": judgments, "results": results}, "arguments")
    with shown_steps(style):
        scores = compare_presets(config)
    print_presets(scores, style, config.measure_set)
