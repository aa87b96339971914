"""Text for people: a name that is nearly right is recognised."""

import pytest

from ndcg_spark.text import did_you_mean, unknown_name

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


def test_an_unknown_name_is_refused_with_the_known_ones():
    said = str(unknown_name("run", "run", "dens", ["hybrid", "dense"]))
    assert said == "run: no run is called 'dens' (did you mean 'dense'?); there are dense, hybrid"


def test_of_many_known_names_the_ten_most_similar_are_shown_and_the_others_counted():
    said = str(unknown_name("query", "judged query", "q12", ["a", "bc", *(f"q{at:02}" for at in range(10, 20))], 1_000))
    assert all(f"q{at}" in said for at in range(10, 20))
    assert said.endswith(" and 990 more")
