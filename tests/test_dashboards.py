"""The dashboard and the alerts in conf ask for what the metrics file of a real night has, and no more."""

import json
import re
from pathlib import Path

import pytest
import sliced_nights

from ndcg_spark.monitoring.metrics import metrics_of_night, prometheus_text

promql = pytest.importorskip("promql_parser")
parser = pytest.importorskip("prometheus_client.parser")
yaml = pytest.importorskip("yaml")

CONF = Path(__file__).parents[1] / "conf"
DASHBOARD = json.loads((CONF / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS = [
    rule
    for group in yaml.safe_load((CONF / "prometheus-alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
TARGETS = [target for panel in DASHBOARD["panels"] for target in panel["targets"]]
EXPRESSIONS = [target["expr"] for target in TARGETS] + [rule["expr"] for rule in ALERTS]
VARIABLES = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The labels of each metric of a night."""
    _, night = sliced_nights.published(tmp_path_factory.mktemp("nights"))
    labels = {}
    for family in parser.text_string_to_metric_families(prometheus_text(metrics_of_night(night))):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def labels_of(expression, written, found):
    """The labels of what an expression returns; what it asks for that is not written is `found`."""
    if isinstance(expression, promql.VectorSelector):
        return selected(expression, written, found)
    parts = [labels_of(part, written, found) for part in parts_of(expression)]
    if isinstance(expression, promql.AggregateExpr):
        return aggregated(expression.modifier, *parts, found)
    if isinstance(expression, promql.BinaryExpr):
        return matched(expression.modifier, *parts, found)
    # A number has none, and what a function returns has those of its argument.
    return set().union(*parts)


def parts_of(expression):
    parts = [getattr(expression, name, None) for name in ("lhs", "rhs", "expr", "vector_selector")]
    return [part for part in parts if part is not None] + list(getattr(expression, "args", ()))


def selected(selector, written, found):
    if selector.name not in written:
        found.append(selector.name)
        return set()
    own = written[selector.name]
    found += [one.name for one in selector.matchers.matchers if one.name not in own]
    return own


def aggregated(modifier, labels, found):
    if modifier is None:
        return set()
    named = set(modifier.labels)
    found += sorted(named - labels)
    return named if modifier.type == promql.AggModifierType.By else labels - named


def matched(modifier, left, right, found):
    """Two vectors match by labels that both have; a number has none."""
    if not left or not right:
        return left | right
    if modifier is None or modifier.matching is None:
        found += sorted(left ^ right)
    else:
        found += [label for label in modifier.matching.labels if label not in left & right]
    if modifier is not None and modifier.group_labels:
        found += [label for label in modifier.group_labels if label not in left | right]
    return left


def unknown(expression, written):
    """The metrics and labels of an expression that are not written."""
    found = []
    labels_of(promql.parse(expression), written, found)
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_asks_for_what_is_written(expression, written):
    assert unknown(expression, written) == []


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ('avg by (run) (ndcg_spark_score{attribute=""}) > bool 0.5', []),
        ("time() - max(ndcg_spark_evaluated_on_timestamp_seconds)", []),
        ("avg_over_time(ndcg_spark_score[7d:1d])", []),
        ("ndcg_spark_score * on (dataset) group_left () ndcg_spark_verdict", []),
        ("ndcg_spark_scores", ["ndcg_spark_scores"]),
        ("absent(ndcg_spark_age)", ["ndcg_spark_age"]),
        ("increase(ndcg_spark_query[1d])", ["ndcg_spark_query"]),
        ('ndcg_spark_score{system="a"}', ["system"]),
        ('ndcg_spark_verdict{run="bm25"}', ["run"]),
        ('ndcg_spark_judged_rate{measure="ndcg"}', ["measure"]),
        ('ndcg_spark_queries{attribute=""}', ["attribute"]),
        ("max by (run) (ndcg_spark_verdict)", ["run"]),
        ("min without (slice) (ndcg_spark_score)", ["slice"]),
        ("max by (run) (min by (dataset) (ndcg_spark_score))", ["run"]),
        ("ndcg_spark_score * on (run) ndcg_spark_verdict", ["run"]),
        ("ndcg_spark_queries * ndcg_spark_verdict", ["cutoff", "run"]),
    ],
)
def test_what_is_not_written_is_found(expression, found, written):
    assert unknown(expression, written) == found


def selectors(expression):
    found = []

    def visit(part):
        if type(part).__name__ == "VectorSelector":
            found.append(part)

    promql.walk(promql.parse(expression), visit)
    return found


def test_totals_and_slices_are_never_mixed(written):
    assert "attribute" in written["ndcg_spark_score"]
    for selector in [one for text in EXPRESSIONS for one in selectors(text)]:
        asked = {(one.name, str(one.op), one.value) for one in selector.matchers.matchers}
        of_slices = [one for one in asked if one[0] == "attribute"]
        assert len(of_slices) == ("attribute" in written[selector.name])
        assert all(value == "" for *_, value in of_slices)


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable["name"])
def test_a_variable_has_the_values_of_a_label(variable, written):
    selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]).groups()
    found = []
    assert label in labels_of(promql.parse(selector), written, found)
    assert found == []


def test_legends_and_annotations_name_labels_that_are_there(written):
    shown = [(target["expr"], target["legendFormat"], r"{{(\w+)}}") for target in TARGETS]
    for rule in ALERTS:
        shown.append((rule["expr"], " ".join(rule["annotations"].values()), r"\$labels\.(\w+)"))
    named = 0
    for expression, text, pattern in shown:
        labels = re.findall(pattern, text)
        named += len(labels)
        assert {*labels} <= labels_of(promql.parse(expression), written, [])
    assert named > len(TARGETS)


def test_the_dashboard_shows_what_a_night_comes_to(written):
    shown = {one.name for target in TARGETS for one in selectors(target["expr"])}
    # Each metric has its panel.
    assert shown == {*written}


def test_the_dashboard_can_be_imported_into_any_grafana():
    names = {one["name"] for one in DASHBOARD["templating"]["list"]}
    assert {*re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))} - {"__all"} == names
    sources = re.findall(r'"uid": "([^"]*)"', json.dumps(DASHBOARD["panels"] + VARIABLES))
    assert {*sources} == {"${source}"}
    panels = DASHBOARD["panels"]
    assert len(sources) == len(panels) + len(TARGETS) + len(VARIABLES)
    assert "id" not in DASHBOARD
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = []
    for place in (panel["gridPos"] for panel in panels):
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            taken.extend((x, y) for y in range(place["y"], place["y"] + place["h"]))
    assert len({*taken}) == len(taken)
