"""The program for spark-submit: `ndcg-spark evaluate` with the same arguments, in its session."""

import sys

try:
    from ndcg_spark.__main__ import main
except ModuleNotFoundError as error:
    sys.exit(
        f"{sys.executable}: {error}; "
        "set PYSPARK_PYTHON to the Python in which ndcg-spark is installed"
    )

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])
