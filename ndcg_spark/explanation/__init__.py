"""Why a query has its score: its documents, what each adds and loses, and what would help. No Spark, no output."""
