"""Which NDCG is computed: options, presets that reproduce other tools, measures, and the formula.
No Spark.
"""
