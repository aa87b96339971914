"""Why a query has its score: its documents, and what every one adds and loses. No Spark, no output."""
