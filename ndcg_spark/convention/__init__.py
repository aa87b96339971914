"""Defines which NDCG is computed: options, presets that reproduce other tools, measures, and the
formula. Nothing here needs Spark.
"""
