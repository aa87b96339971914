"""``python -m ndcg_spark``: the command line, where its script is not on the path."""

from ndcg_spark.cli import main

if __name__ == "__main__":
    main()
