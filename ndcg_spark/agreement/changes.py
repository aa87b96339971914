"""What made a run's mean change since an earlier night: other lists, other judgments, or other queries."""

import pandas as pd


def change_parts(before: pd.DataFrame, between: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The rows of CHANGE_PARTS, by run, of the runs that all three have.

    Each has the NDCG of every query (rows) and run (columns), nan where it is left out: of the earlier lists under the
    earlier judgments, of the new lists under the earlier judgments, and of the new lists under the new judgments. Over
    the queries with all three scores, `of_lists` is the mean of between - before and `of_judgments` that of after -
    between. `of_queries` is what the others do: by how much they move the mean after, less what they moved it before.
    So the parts sum to `change`, which is that of the whole means. Without such a query there are no parts.
    """
    runs = before.columns.intersection(after.columns)
    first, second, third = (scores.reindex(columns=runs) for scores in (before, between, after))
    known = (first + second + third).notna()
    shared = [scores.where(known).mean() for scores in (first, second, third)]
    return (
        pd.DataFrame(
            {
                "queries": known.sum(),
                "change": third.mean() - first.mean(),
                "of_lists": shared[1] - shared[0],
                "of_judgments": shared[2] - shared[1],
                "of_queries": (third.mean() - shared[2]) - (first.mean() - shared[0]),
            }
        )
        .rename_axis("run")
        .reset_index()
    )
