"""The output folder: each evaluation has folders of its own, and of a night the one with the greatest record counts."""
