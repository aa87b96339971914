"""What spark-submit gets: `ndcg-spark evaluate` with the same arguments, on spark-submit's session."""

import sys

from ndcg_spark.cli import main

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])
