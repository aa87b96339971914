"""Where the program begins: `ndcg-spark`, `python -m ndcg_spark`, and what spark-submit is given."""

from ndcg_spark import interrupts


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a signal that ends it is obeyed from here on."""
    # Before anything is imported that takes long, or that starts threads.
    interrupts.watch()
    try:
        from ndcg_spark.cli import main as command_line

        command_line(arguments)
    finally:
        interrupts.unwatch()


if __name__ == "__main__":
    main()
