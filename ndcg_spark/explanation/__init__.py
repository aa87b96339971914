"""Why a query scores what it scores: its documents, what each adds and loses, what would help. No Spark, no stream."""
