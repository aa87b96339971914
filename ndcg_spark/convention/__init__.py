"""Which NDCG is computed: the options, the presets that reproduce other tools, and the formula in words. No Spark."""
