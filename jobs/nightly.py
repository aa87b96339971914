"""`jobs/evaluate.py` for a scheduler that cannot write a date into the arguments.

The night is yesterday in UTC.
"""

import datetime
import sys

try:
    from ndcg_spark.__main__ import main
except ModuleNotFoundError as error:
    sys.exit(
        f"{sys.executable}: {error}; "
        "set PYSPARK_PYTHON to the Python in which ndcg-spark is installed"
    )

if __name__ == "__main__":
    yesterday = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)
    # A date in the arguments comes later, so it wins.
    main(["evaluate", "--date", yesterday.isoformat(), *sys.argv[1:]])
