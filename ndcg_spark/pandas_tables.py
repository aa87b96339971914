"""Tables of scores and comparisons as pandas frames, and as notebooks show them."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame


def to_pandas(table: "DataFrame | pa.Table") -> "pd.DataFrame":
    """All rows of a table as a pandas DataFrame, in no order. Runs a Spark job.

    Integers stay integers where some are missing (Int64): the cutoff of the whole ranking is <NA>, not NaN beside 10.0.
    Dates are datetime64.

    Parameters
    ----------
    table : DataFrame or pyarrow.Table
        The scores of `evaluate` or `read_scores`, a comparison of `compare`, or any other table.
    """
    # Imported here, because commands that read nights without an engine do not need it.
    import pandas as pd

    whole = dict.fromkeys((pa.int16(), pa.int32(), pa.int64()), pd.Int64Dtype())
    arrow = table if isinstance(table, pa.Table) else table.toArrow()
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame
