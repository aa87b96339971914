"""Why a query has its score: its documents, and what each adds and loses. It does not use Spark or
write output.
"""
