"""The command `conventions`: the presets, one of them, or all of them side by side on somebody's data."""

import click

from ndcg_spark.cli.command import Command
from ndcg_spark.cli.options import config_engine_option, input_format_option, output_format
from ndcg_spark.convention.explanation import explain_preset, list_presets_and_options
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import printing


@click.command("conventions", cls=Command)
@click.argument("name", required=False, metavar="[NAME]", help="A preset, to show its options and formula.")
@click.option(
    "--compare", nargs=2, metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."
)
@click.option("--cutoffs", help="Ranks of the comparison, and 'all'. [default: 10]")
@click.option("--measures", help="Measures to compare, e.g. nDCG@10 P@5 AP. [default: ndcg]")
@input_format_option
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
@config_engine_option
def show_conventions(
    name: str | None,
    compare: tuple[str, str] | None,
    cutoffs: str | None,
    measures: str | None,
    input_format: str | None,
    style: str,
    engine: str | None,
) -> None:
    """List the presets, explain one, or compare all on your data."""
    if compare is not None and name is not None:
        raise ConfigurationError(f"arguments: --compare scores under every preset, not only {name}; give one of them")
    if compare is None:
        if style != "table" or any((cutoffs, measures, input_format, engine)):
            raise ConfigurationError(
                "arguments: --cutoffs, --measures, --input-format, --engine and --format are for comparisons; add "
                "--compare"
            )
        say(list_presets_and_options() if name is None else explain_preset(name))
        return
    from ndcg_spark.config import validate
    from ndcg_spark.job.every_preset import compare_presets
    from ndcg_spark.report import formats
    from ndcg_spark.report.terminal import Progress

    judgments, results = ({"path": path, "format": input_format} for path in compare)
    options = {"cutoffs": cutoffs or (None if measures else "10"), "measures": measures, "engine": engine}
    settings = {name: value for name, value in options.items() if value is not None}
    config = validate({"judgments": judgments, "results": results, **settings}, "arguments")
    with Progress(silent(style)).running() as progress:
        rows = compare_presets(config, progress.tell)
    with printing():
        formats.print_comparison(rows, style, config.asked)
