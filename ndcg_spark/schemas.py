"""Every table, in the order in which an evaluation reads and writes them, with its rows and key.

REFERENCE.md describes the columns.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa

from ndcg_spark.convention.measures import CATALOG_COLUMNS, COLUMNS, RUN_COLUMNS

_KINDS = {
    "string": pa.string(),
    "double": pa.float64(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.field("element", pa.string())),
}


def _table(columns: str) -> pa.Schema:
    """A schema from a text such as `query_id doc_id string, relevance double`.

    Each type follows the columns that have it.
    """
    fields = []
    for group in columns.split(","):
        *names, kind = group.split()
        for name in names:
            fields.append((name, _KINDS[kind]))
    return pa.schema(fields)


#: One row per judged document of a query; key (dataset, query_id, doc_id). `dataset` is optional.
JUDGMENTS = _table("dataset query_id doc_id string, relevance double")

#: One row per document that a run returned for a query; key (dataset, run, query_id, doc_id).
#: `dataset` is optional, and one of `score` and `rank` (from 1).
RESULTS = _table("dataset run query_id doc_id string, score double, rank int")

#: One row per document that is removed from the lists of a query before they are ranked; no key.
EXCLUDE = _table("dataset query_id doc_id string")

#: One row per query, attribute and value, for slices. The key is all columns, because a query may
#: have several values.
QUERY_ATTRIBUTES = _table("dataset query_id attribute value string")

#: One row per item of the catalog; key doc_id. `popularity` is the number of users who used it,
#: `interactions` how often it was used.
ITEMS = _table("doc_id string, popularity interactions double, category string")

#: The value of a query that has no value for an attribute.
NO_VALUE = "(none)"

#: One row per query, for example its share of the traffic; key (dataset, query_id). A weight is
#: from 1e-100 to 1e100.
QUERY_WEIGHTS = _table("dataset query_id string, weight double")

#: The columns of the tables above that are optional in an input.
OPTIONAL = frozenset({"dataset", "score", "rank"})
#: Names of columns, in lower case, that show that a table without grades contains results.
OF_RESULTS = frozenset({"score", "prediction", "rank", "run", "run_id"})

#: A column of a table as it was read: BROKEN_LINE for a line that is not a row, null for a row. Its
#: name contains a private character, so that no user's column has the same name.
FAULT, BROKEN_LINE = "\ue000fault", "broken_line"
#: The text of a broken line, or of a line with a number that is not valid; otherwise null.
LINE = "\ue000line"

#: In judgments read from text, the text of a grade that is not a number; otherwise null.
UNREAD_GRADE = "\ue000grade"

#: The columns that reading adds to a table.
INTERNAL = (FAULT, LINE, UNREAD_GRADE)

#: The prefix of the folders through which an engine gets the values of partition folders.
OWN = "ndcg_own_"

#: In judgments whose grades were labels, every row's label.
LABEL = f"{OWN}label"

#: The folder of a partition whose value is null.
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"

#: The sides of a change of judgments: both nights under the earlier judgments, or under tonight's.
OLD, NEW = "old", "new"

#: The columns of every published table that are stored only in the paths of its files.
IN_PATHS = ("evaluated_on", "evaluation_id")

_MEASURES = f"{' '.join(COLUMNS)} double"

#: One row per run, judged query and cutoff; key (dataset, evaluated_on, run, query_id, cutoff).
#: `cutoff` is null for the whole ranking; `status` is scored, no_relevant or missing; measures are
#: null if they are not computed, or if the convention leaves the query out. `judgments_hash`
#: changes if and only if the judgments of the query change. `judged_discount_share` is the share of
#: judged documents in the list's discounts. It is null if the list is empty, and in nights
#: that older versions published.
QUERY_SCORES = _table(
    "dataset string, evaluated_on date, run query_id string, cutoff int, status string, "
    "returned judged bigint, judged_discount_share double, judgments_hash bigint, "
    "evaluation_id string, "
    f"ndcg dcg ideal_dcg cg double, {_MEASURES}"
)

#: One row per run, cutoff and slice; key (dataset, evaluated_on, run, cutoff, attribute, value),
#: the last two null for all queries. `ndcg` is the mean over `queries` queries, `ndcg_pooled` their
#: sum of DCG over their sum of ideal DCG. Other measures are means over `relevant_queries`, and
#: catalog measures are means over `listed_queries`, the judged queries with a list.
#: `judged_rate` is the share of judged documents among those returned within the cutoff.
#: `unjudged_queries` is null in slices, because such queries have no attributes. The last columns
#: cover all `lists` of the run, judged or not, and are null in slices. `unknown_items` counts shown
#: items that are not in the catalog.
DATASET_SCORES = _table(
    "dataset string, evaluated_on date, run string, cutoff int, attribute value string, "
    "queries missing_queries no_relevant_queries unjudged_queries relevant_queries bigint, "
    "convention formula evaluation_id string, "
    f"ndcg ndcg_pooled ndcg_stddev ndcg_stderr dcg judged_rate double, {_MEASURES}, "
    f"listed_queries lists unknown_items bigint, {' '.join(RUN_COLUMNS)} double"
)

#: One row per query and unjudged document that a run returned; key (dataset, query_id, doc_id).
#: `weight` is the sum of its discounts over the `runs` that return it within the deepest cutoff, or
#: the sum of the differences from its discounts in another night or run.
TO_JUDGE = _table("dataset query_id doc_id string, runs bigint, best_rank int, weight double")

#: One row per dataset of two sets of judgments, A and B; key dataset. `pairs` counts the documents
#: that both judge, `only_a` and `only_b` those that only one judges. The columns from `runs` on are
#: null without results.
AGREEMENTS = _table(
    "dataset string, pairs only_a only_b bigint, kappa kappa_quadratic alpha double, "
    "runs queries bigint, tau_b tau_ap double"
)

#: One row per rejected input row, as text; no key. `dataset_read` is the row's dataset, and
#: `dataset` that of the night. `line` is the text of a line that is not a row, or that has a number
#: that is not valid.
REJECTED_ROWS = _table(
    "dataset string, evaluated_on date, "
    "table reason dataset_read run query_id doc_id relevance score rank line evaluation_id string"
)

#: One row per run, baseline, measure, cutoff and slice; key (dataset, evaluated_on, run, baseline,
#: baseline_night, baseline_nights, measure, cutoff, attribute, value, and whether
#: weight_effective_n is null). `baseline_night` is the newest date of the baseline's scores, null
#: if they belong to this night. If judgments have changed, `side` says which ones are used: old,
#: new, or the lower or higher side of each change (chain_low, chain_high). `reading` 2 treats
#: unjudged documents like the judged ones of their list; both are in the key. `queries` are the
#: paired queries, over which every mean is computed. Of the `judged_queries`, which both sides
#: judge, the run answered `answered_queries`, that is, it returned something. `p_value` and the
#: interval come from the paired t test, `p_randomization` from random signs; `p_decides` is the
#: larger of the two. `p_decides` and `p_adjusted` (t) are adjusted for `family_size` tests.
COMPARISONS = _table(
    "dataset string, evaluated_on date, run baseline string, baseline_night date, "
    "baseline_nights bigint, side string, reading int, "
    "measure string, cutoff int, attribute value string, "
    "queries unpaired_queries judged_queries answered_queries baseline_answered_queries "
    "changed_queries wins ties losses bigint, "
    "mean baseline_mean difference relative_difference interval_low interval_high double, "
    "p_value p_adjusted p_randomization p_decides double, family_size bigint, conclusion string, "
    "flags array<string>, effect_size minimum_detectable weight_effective_n double, "
    "evaluation_id string"
)

#: One row per run, query and rank, down to the deepest finite cutoff; key (dataset, evaluated_on,
#: run, query_id, rank). `run` is null for the ideal ranking of the query, unless each run has its
#: own (ideal=retrieved or retrieved_at_k). `gain` times `discount` is what the document adds: with
#: averaged ties, `gain` is the mean of its tie group. Documents of a list that tie share a
#: `tie_group`, which is null in the ideal ranking, and in nights of versions that did not keep it.
RANKED_DOCUMENTS = _table(
    "dataset string, evaluated_on date, run query_id string, rank int, doc_id string, "
    "tied boolean, evaluation_id string, score relevance gain discount double, tie_group int"
)

#: One row per run, cutoff, and query for which a side returned something; key (dataset, run,
#: query_id, cutoff). Documents within the cutoff are counted. `same_order` is true if both sides
#: return the same documents in the same order.
LIST_CHANGES = _table(
    "dataset run baseline query_id string, cutoff int, "
    "returned baseline_returned entered left bigint, top_changed same_order boolean, "
    "jaccard rbo moved_discount double"
)

#: The log: one row per dataset of an evaluation, and another row, a revision, each time somebody
#: accepts, acknowledges, withdraws or notes something; key (dataset, evaluated_on, number,
#: evaluation_id, revision). Among the published rows of a dataset and date, the one with the
#: greatest (number, evaluation_id, revision) applies; rows that are not published have no number.
#:
#: `status` is published, refused or failed. `verdict` is pass, fail or none, or null without a
#: gate, and `run` is the run that it is about. `accepted` is why the night is a baseline even if it
#: did not pass. `verified` says how many lists were recomputed in plain Python, or why scores that
#: differ were published. Times are in UTC, as ISO 8601.
#:
#: The columns from `options` on are JSON. `means` has the mean of every run and cutoff. `links` has
#: the changes of the runs across a change of judgments, on both sides. `accepted_runs` has the runs
#: for which the night is accepted (null: all). `acknowledged` has the reason and the last date of a
#: known loss. `withdrawn` says what a revision withdraws. These five are null in older rows.
EVALUATIONS = _table(
    "dataset string, evaluated_on date, evaluation_id status string, number revision bigint, "
    "committed_at revised_at string, exit_code bigint, verdict reason run accepted string, "
    "is_baseline boolean, "
    "note verified convention formula engine judgments_fingerprint results_fingerprint string, "
    "seconds double, "
    "options configuration inputs datasets datasets_without_results versions counts rejected "
    "steps string, findings files means links accepted_runs acknowledged withdrawn string"
)

#: One row per judged query, attribute and value of a night that was evaluated with slices. The key
#: is all columns.
KEPT_ATTRIBUTES = _table(
    "dataset string, evaluated_on date, query_id attribute value evaluation_id string"
)

#: An evaluation's published tables, by their folder names.
KEPT = {
    "query_scores": QUERY_SCORES,
    "dataset_scores": DATASET_SCORES,
    "rejected_rows": REJECTED_ROWS,
    "ranked_documents": RANKED_DOCUMENTS,
    "comparisons": COMPARISONS,
    "query_attributes": KEPT_ATTRIBUTES,
}


def measure_first(schema: pa.Schema, measures: Collection[str] = ()) -> tuple[str, ...]:
    """The columns of a table of scores in display order: the key, ndcg, these measures, and the
    columns that are not measures. All other measures are left out.
    """
    all_measures = COLUMNS + RUN_COLUMNS
    shown = [name for name in all_measures if name in measures]
    left_out = set(all_measures) | _other_counts(shown) | {"ndcg"}
    columns = [name for name in schema.names if name not in left_out]
    last_of_key = "value" if "value" in columns else "cutoff"
    end_of_key = columns.index(last_of_key) + 1
    ordered = columns[:end_of_key]
    ordered.append("ndcg")
    ordered.extend(shown)
    ordered.extend(columns[end_of_key:])
    return tuple(ordered)


def _other_counts(measures: Iterable[str]) -> set[str]:
    """The counts that say nothing about these measures."""
    counts = {"relevant_queries", "listed_queries", "lists", "unknown_items"}
    for name in measures:
        if name not in CATALOG_COLUMNS:
            counts.discard("relevant_queries")
            continue
        counts.discard("unknown_items")
        if name in RUN_COLUMNS:
            counts.discard("lists")
        else:
            counts.discard("listed_queries")
    return counts


def query_key(columns: Iterable[str]) -> list[str]:
    """The columns that identify a query in a table with these columns: ["dataset", "query_id"], or
    only query_id if the table does not name datasets.
    """
    return [name for name in ("dataset", "query_id") if name in columns]
