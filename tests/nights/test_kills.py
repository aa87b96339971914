"""Nights outlive crashes: killed after any change, readers see the old night or the new; the next run converges."""

import pytest
from changes import killed
from publish_and_die import NEW, NEXT, OLD, SHOP, WEB, publish, whole
from readers import cleaned, files, seen

from ndcg_spark.nights.layout import STAGING

#: The datasets, and whether the old night, if there is one, and the new have rejected rows.
KINDS = {
    "first": ("web", None, True),
    "rerun of rejected rows": ("web", True, False),
    "several datasets": ("shop+web", True, True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_kill_every_night_is_the_old_or_the_new_and_the_next_run_converges(tmp_path, kind, numbers):
    datasets, before, after = KINDS[kind]
    nights = [WEB, SHOP] if datasets == "shop+web" else [WEB]
    old = None if before is None else whole(0.1 + 0.2, OLD, rejected=before)
    new = whole(0.7, NEW, rejected=after)
    for number in numbers:
        output = str(tmp_path / str(number))
        if old is not None:
            publish(output, OLD, 0.1 + 0.2, rejected=before, dataset=datasets)
        was_killed = killed(publish, output, NEW, 0.7, rejected=after, dataset=datasets, after=number)
        found = seen(output)
        assert all(found.get(night) in (old, new) for night in nights), number
        # Tonight's evaluation may still be about to publish, for all that the next knows.
        publish(output, NEXT, 0.5, dataset=datasets)
        assert seen(output) == {night: whole(0.5, NEXT) for night in nights}, number
        cleaned(output)
        assert all(NEXT in path for path in files(output) if not path.endswith(".part")), number
        if not was_killed:
            break
    # It came to its end, after enough changes for all that a publication is made of.
    assert all(found[night] == new for night in nights)
    assert number > 20


@pytest.mark.usefixtures("at_once")
def test_a_kill_between_the_records_of_two_nights_leaves_one_new_and_one_old(tmp_path):
    publish(str(tmp_path), OLD, 0.1, dataset="shop+web")
    pattern = rf"_evaluations/dataset=shop/\S+{NEW}\.json$"
    assert killed(publish, str(tmp_path), NEW, 0.7, dataset="shop+web", after=pattern)
    assert seen(tmp_path) == {SHOP: whole(0.7, NEW), WEB: whole(0.1, OLD)}


@pytest.mark.parametrize("when", ["moving", "published"])
@pytest.mark.usefixtures("at_once")
def test_what_a_killed_evaluation_has_left_is_removed_after_a_day_and_not_before(tmp_path, when):
    output = str(tmp_path)
    publish(output, OLD, 0.25, rejected=True)
    kept = files(tmp_path)
    pattern = {"moving": r"(move|copy) .*-> dataset_scores/", "published": rf"_evaluations/\S+{NEW}\.json$"}[when]
    assert killed(publish, output, NEW, 0.7, dataset="web" if when == "moving" else "shop", after=pattern)
    published = {path for path in files(tmp_path) if path.partition("/")[2].startswith("dataset=shop")}
    assert any(path.startswith("query_scores/") and NEW in path for path in files(tmp_path))
    before = files(tmp_path)
    publish(output, NEXT, 0.5, dataset="movies")
    assert before <= files(tmp_path)
    assert f"removed {NEW}, which had not published" in cleaned(output)
    assert {path for path in files(tmp_path) if NEXT not in path} == kept | published
    assert cleaned(output) == []


def test_a_cleanup_that_is_killed_after_any_change_is_taken_up_again(tmp_path, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.1, rejected=True)
        # Of one the record is there, of the other not: it has moved its tables.
        assert killed(publish, output, NEXT, 0.5, after=r"(move|copy) .*-> dataset_scores/")
        assert killed(publish, output, NEW, 0.7, after=rf"_evaluations/\S+{NEW}\.json$")
        was_killed = killed(cleaned, output, after=number)
        assert seen(output) == {WEB: whole(0.7, NEW)}, number
        cleaned(output)
        assert seen(output) == {WEB: whole(0.7, NEW)}, number
        assert all(NEW in path and STAGING not in path for path in files(output)), number
        if not was_killed:
            break
    assert number > 10
