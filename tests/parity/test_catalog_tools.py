"""The measures of the catalog under the preset of each tool, against what the live tool said."""

import json
from collections import Counter
from pathlib import Path

import catalog_tools
import pyarrow as pa
import pytest
from scored import in_turn, scored
from sessions import on_spark

from ndcg_spark.convention.catalog import CATALOG_PRESETS

SAID = json.loads(
    (Path(__file__).parents[1] / "golden" / "catalog.json").read_text(encoding="utf-8")
)
#: LensKit adds up exposures in float32.
NEAR = {"gini(p=0.85)": 2e-5}


#: Their catalog is what was used in the training.
OF_WHAT_WAS_USED = ("evidently", "recommenders", "replay")


def measures(preset):
    return [name for name in SAID[preset] if name != "tool"]


def items(case, preset):
    """The catalog of a tool: what it is given, or else what was used in the training."""
    users = Counter(item for _, item in set(case.used))
    often = Counter(item for _, item in case.used)
    known = sorted(users) if preset in OF_WHAT_WAS_USED else case.catalog
    columns = {
        "doc_id": list(map(str, known)),
        "popularity": [users[item] for item in known],
        "interactions": [often[item] for item in known],
    }
    return pa.table(columns), len({user for user, _ in case.used})


def categories(case):
    ids = list(map(str, case.category))
    return pa.table({"doc_id": ids, "category": list(case.category.values())})


def results(cases):
    rows = []
    for run, case in cases.items():
        rows += [(run, str(user), str(item), rank) for user, item, rank in case.shown]
    columns = ("run", "query_id", "doc_id", "rank")
    return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))


def asked(measure, preset):
    """The measure with the preset of a tool: gini(preset=lenskit,p=0.85)."""
    name, _, arguments = measure.partition("(")
    return f"{name}({','.join([f'preset={preset}', *([arguments[:-1]] if arguments else [])])})"


def groups(preset):
    """The measures that one evaluation can have: one of each name, and of the same items."""
    together, alone = {}, []
    for measure in measures(preset):
        name = measure.partition("(")[0]
        if name in together or name == "categories":
            alone.append([measure])
        else:
            together[name] = measure
    return [[*together.values()], *alone]


def computed(session, preset, group, road, shops):
    """By measure, cutoff and run of these shops, what we say, in the shape of the golden file."""
    cases = catalog_tools.cases(only_known=preset == "lenskit")
    judged = {"query_id": ["1"], "doc_id": ["1"], "relevance": [1.0]}
    judged = {name: value * 20 for name, value in judged.items()}
    judged["query_id"] = [str(user) for user in range(1, 21)]
    found = {}
    for shop in shops:
        own = {run: case for run, case in cases.items() if run.startswith(f"{shop}-")}
        one = next(iter(own.values()))
        table, users = items(one, preset)
        if group == ["categories"]:
            table, users = categories(one), None
        scores = scored(
            session,
            judged,
            results(own),
            catalog_tools.CUTOFFS,
            road=road,
            measures=["ndcg", *(asked(measure, preset) for measure in group)],
            items=table,
            items_users=users,
        )
        for measure in group:
            of_measure = found.setdefault(measure, {})
            for row in scores.dataset_scores:
                value = row[measure.partition("(")[0]]
                of_measure.setdefault(str(row["cutoff"]), {})[row["run"]] = value
    return found


CASES = in_turn([(preset, group) for preset in SAID for group in groups(preset)])


@pytest.mark.parametrize(("case", "road"), on_spark(CASES, CASES[0], CASES[-1]), ids=str)
def test_a_preset_has_what_its_tool_said_of_thirty_runs(session, case, road, thorough):
    preset, group = case
    # One of the shops, in turn.
    chosen = [CASES.index((case, road)) % catalog_tools.SHOPS]
    shops = range(catalog_tools.SHOPS) if thorough else chosen
    found = computed(session, preset, group, road, shops)
    assert [*found] == group
    for measure in group:
        for cutoff, said in SAID[preset][measure].items():
            assert len(said) == 30
            ours = found[measure][cutoff]
            assert len(ours) == catalog_tools.RUNS * len(shops)
            of_shops = {run: said[run] for run in ours}
            assert ours == pytest.approx(of_shops, abs=NEAR.get(measure, 1e-9))


def test_every_call_of_a_preset_was_asked():
    for preset, entry in CATALOG_PRESETS.items():
        named = {measure.partition("(")[0] for measure in measures(preset)}
        assert named == set(entry.calls)
        version = SAID[preset]["tool"].rpartition(" ")[2]
        assert version in entry.verified


@pytest.mark.parametrize("preset", catalog_tools.TOOLS)
@pytest.mark.filterwarnings("ignore")
def test_the_installed_tool_still_says_so(preset):
    if not catalog_tools.is_installed(preset):
        pytest.skip(f"{preset} is not installed")
    said = catalog_tools.ask(preset)
    for measure in measures(preset):
        for cutoff, values in SAID[preset][measure].items():
            assert said[measure][cutoff] == pytest.approx(values, abs=1e-9)
