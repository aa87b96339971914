"""Why a query has its score: its documents, what each adds and loses. No Spark, no output."""
