"""Text for people: a name that is nearly right is recognised."""

import pytest

from ndcg_spark.text import did_you_mean

KNOWN = ["standard", "trec_eval", "trec_eval_9", "csv", "none", "rank", "doc_id_desc"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("treceval", "trec_eval"),
        ("TREC-eval", "trec_eval"),
        ("trec", "trec_eval"),
        ("cvs", "csv"),
        ("standart", "standard"),
        ("doc_id_dsc", "doc_id_desc"),
    ],
)
def test_a_near_name_is_proposed(word, meant):
    assert did_you_mean(word, KNOWN) == f" (did you mean {meant!r}?)"


@pytest.mark.parametrize("word", ["nonsense", "random", "", "x", "tr", "\ue000"])
def test_a_name_that_is_like_none_is_not(word):
    assert did_you_mean(word, KNOWN) == ""
