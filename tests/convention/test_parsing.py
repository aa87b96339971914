"""Measures as people write them: what they ask for, and what is refused and why."""

import pytest

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, measure_heading
from ndcg_spark.convention.parsing import parse_columns, parse_measure_set, parse_measures
from ndcg_spark.errors import ConfigurationError

DEFAULT = (1, 10)
#: The measure that each name of papers and tools stands for.
NAMES = {written: name for name, measure in MEASURES.items() for written in measure.written}


def pairs(measures, cutoffs=None):
    return list(parse_measures(measures, cutoffs, DEFAULT).measure_set.pairs)


@pytest.mark.parametrize(("written", "name"), NAMES.items())
def test_a_name_from_papers_is_of_the_whole_ranking_and_one_in_lower_case_at_every_cutoff(
    written, name
):
    assert pairs(f"{written}@all") == [(name, None)]
    assert pairs(written, [3]) == [
        (name, 3 if written.islower() and not MEASURES[name].whole else None)
    ]
    if not MEASURES[name].whole:
        assert pairs(f"{written}@7") == [(name, 7)]


@pytest.mark.parametrize(
    ("measures", "cutoffs", "needed"),
    [
        ("P@5 AP R@100", None, [5, 100, None]),
        ("P@5 recall", None, [1, 5, 10]),
        ("P@5 recall", [2], [2, 5]),
        ("P@5", [2, None], [2, 5, None]),
        ("bpref", None, [None]),
    ],
)
def test_the_cutoffs_are_those_that_any_measure_needs(measures, cutoffs, needed):
    assert list(parse_measures(measures, cutoffs, DEFAULT).cutoffs) == needed


@pytest.mark.parametrize(
    ("measures", "options"),
    [
        ("P(rel=2)@5", {"relevant_from": "2"}),
        (
            "P(rel=2)@5 R( rel = 2 )@10 nDCG@3 RBP(p=0.5)",
            {"relevant_from": "2", "rbp_persistence": "0.5"},
        ),
        # Numbers are compared, not their digits.
        ("P(rel=2)@5 R(rel=2.0)@5 AP(rel=02)", {"relevant_from": "2"}),
        ("rbp(p=.5)@3,judged,RBP(p=0.50)", {"rbp_persistence": "0.5"}),
        ("P(rel=judged)@5", {"relevant_from": "judged"}),
        ("P()@5", {}),
    ],
)
def test_arguments_set_options_of_the_convention(measures, options):
    parsed_options = parse_measures(measures, None, DEFAULT).measure_set.options
    assert parsed_options == options
    assert Convention().replace(**parsed_options)


@pytest.mark.parametrize(
    ("measures", "reason"),
    [
        (
            "P(rel=2)@5 R(rel=3)@5",
            r"P\(rel=2\)@5 and R\(rel=3\)@5 set different values of relevant_from",
        ),
        ("P(rel=2)@5 R@10", r"P\(rel=2\)@5 and R@10 set .*; write rel="),
        ("RBP(p=0.5) RBP@10", "values of rbp_persistence"),
        (
            "infAP AP ndcg_cut_10",
            "called 'infAP' or 'ndcg_cut_10'; choose from ndcg, precision, .* P@5, ndcg@10$",
        ),
        ("hitrate@10", r"called 'hitrate@10' \(did you mean 'HitRate'\?\); "),
        (
            "recal@10 ndcg10",
            r"'recal@10' \(.* 'recall'\?\) or 'ndcg10' \(.* 'ndcg'\?\); .* write P@5, ndcg@10$",
        ),
        ("rbp.80", r"or write RBP\(p=0\.8\)$"),
        ("P@0", "P@0 has an invalid cutoff; write P@10"),
        ("P@٣", "P@٣ has an invalid cutoff"),
        ("P(rel=2@5", r"called 'P\(rel=2@5'"),
        ("P(cutoff=2)@5", r"P\(cutoff=2\)@5 has the argument 'cutoff=2', but it takes rel=\.\.\."),
        ("nDCG(dcg='exp-log2')@10", "but it takes no arguments; .* gain=exp2"),
        ("nDCG(judged_only=True)@10", "no arguments; .* unjudged=drop"),
        ("bpref@3", "bpref@3 has an invalid cutoff; bpref is computed on the whole"),
        ("Rprec@10", "Rprec@10 has an invalid cutoff; rprec is computed on the whole"),
        ("R_cap(p=1)@10", r"R_cap\(p=1\)@10 has the argument 'p=1', but it takes rel="),
        ("rcap@10", r"called 'rcap@10' \(did you mean 'R_cap'\?\); "),
        ("", "the list is empty; choose from ndcg, precision"),
        ([], "the list is empty"),
        ("P@9999999999", "invalid cutoff"),
    ],
)
def test_what_is_no_measure_is_refused_with_the_reason(measures, reason):
    with pytest.raises(ConfigurationError, match=reason):
        parse_measures(measures, None, DEFAULT)


@pytest.mark.parametrize("written", [*MEASURES, *NAMES, "rbp", "unknown"])
@pytest.mark.parametrize("tail", ["_10", "_cut_10", "10", "_0", ".0", ".80", "_99999999999", "_"])
def test_what_is_suggested_is_accepted(written, tail):
    with pytest.raises(ConfigurationError) as refused:
        parse_measures(f"{written}{tail}", None, DEFAULT)
    suggested = str(refused.value).rpartition("or write ")[2]
    assert len(pairs(suggested)) == 1


def test_arguments_of_scores_that_are_computed_are_the_same_numbers():
    measures = "P(rel=2)@5 RBP(p=0.5) Gini(p=0.5)"
    computed = parse_measures(measures, None, DEFAULT).measure_set.options
    same = parse_columns("P(rel=2.0)@5 RBP(p=.50) Gini(p=0.500)", (), computed)
    assert [name for name, _ in same] == ["precision", "rbp", "gini"]
    with pytest.raises(ConfigurationError, match="already computed"):
        parse_columns("P(rel=3)@5", (), computed)


def test_a_request_says_the_same_again_with_every_cutoff_and_argument():
    first = parse_measures("nDCG@10 P(rel=2)@5 rr(rel=2) RBP(p=0.5) bpref(rel=2)", [3], DEFAULT)
    texts = ["ndcg@10", "precision(rel=2)@5", "rr(rel=2)@3", "rbp(p=0.5)@all", "bpref(rel=2)@all"]
    assert first.measure_set.texts == texts
    again = parse_measures(texts, first.cutoffs, DEFAULT)
    assert again == first
    assert parse_measure_set(texts) == first.measure_set
    assert parse_measure_set([]) == NDCG_ONLY


@pytest.mark.parametrize(
    ("measures", "cutoffs", "headline"),
    [
        ("nDCG@10 R@1000", None, ("ndcg", 10)),
        ("R@1000 nDCG@10", None, ("recall", 1000)),
        ("AP nDCG@10", [5], ("ap", None)),
        ("bpref ndcg", [5], ("bpref", None)),
        # At every cutoff: the deepest of those that were named, and not one that another measure needs.
        ("ndcg R@1000", [1, 10, None], ("ndcg", 10)),
        ("precision nDCG@3", [None], ("precision", None)),
        ("ndcg", None, ("ndcg", max(DEFAULT))),
    ],
)
def test_the_headline_is_the_first_measure_that_was_named(measures, cutoffs, headline):
    parsed = parse_measures(measures, cutoffs, DEFAULT)
    assert parsed.measure_set.headline(parsed.cutoffs) == headline
    again = parse_measure_set(parsed.measure_set.texts, measure_heading(*headline))
    assert again.headline([]) == headline


def test_a_column_without_a_cutoff_is_meant_at_that_of_the_headline_if_it_was_asked_for_there():
    asked = parse_measures("nDCG@10 P@5 R@1000", None, DEFAULT).measure_set
    cutoffs = {
        column: asked.main_cutoff(column, [5, 10, 1000])
        for column in ("ndcg", "precision", "recall", "dcg")
    }
    assert cutoffs == {"ndcg": 10, "precision": 5, "recall": 1000, "dcg": 10}
    assert asked.main_cutoff("ndcg", [5, 1000]) == 1000
    whole = parse_measures("AP P@5 AP@10", None, DEFAULT).measure_set
    assert (whole.main_cutoff("ap", [5, 10, None]), whole.main_cutoff("ndcg", [5, 10, None])) == (
        None,
        10,
    )
