"""Where the program starts, for `ndcg-spark`, `python -m ndcg_spark` and spark-submit."""

from ndcg_spark import interrupts


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code. From here on, a signal ends the process cleanly."""
    # Before any import that takes long or starts threads.
    interrupts.watch()
    try:
        from ndcg_spark.cli import main as command_line

        command_line(arguments)
    finally:
        interrupts.unwatch()


if __name__ == "__main__":
    main()
