"""Why a query has its score: its documents, and what each adds and loses. No Spark, no output."""
