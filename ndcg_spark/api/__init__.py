"""The functions that people import from Python, and the worker that computes for them. `ndcg_spark`
names all of them.
"""
