"""The convention of a job's scores, from files: tables, trec_eval's output, means, samples, differences."""

import csv
import json
import random
import tomllib
from pathlib import Path

import cases
import pandas as pd
import pytest
import sessions
from commands import command_line

import ndcg_spark
from ndcg_spark import reference
from ndcg_spark.config import validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.old_scores import read_old_scores
from ndcg_spark.job import like_inputs, like_scores
from ndcg_spark.search.found import SidesAtRank

CASE = cases.make(range(3), negative=False)
RUNS = ("bm25", "dense")


def returned(run):
    """The lists of a run; those of the second are in another order."""
    if run == RUNS[0]:
        return CASE.returned
    chance = random.Random(1)  # noqa: S311  # the same lists every time
    lists = {}
    for query, rows in CASE.returned.items():
        scores = [score for _, score, _ in rows]
        chance.shuffle(scores)
        lists[query] = [
            (doc, score, rank) for (doc, _, rank), score in zip(rows, scores, strict=True)
        ]
    return lists


def scores_of(convention, cutoff, run=RUNS[0]):
    """The NDCG of every query that the convention does not leave out."""
    scores = {}
    for query, judged in CASE.judged.items():
        score = reference.score(
            query, judged.items(), returned(run).get(query, []), convention, cutoff
        )
        if score.ndcg is not None:
            scores[query] = score.ndcg
    return scores


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "judgments.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["query_id", "doc_id", "relevance"])
        for query, judged in CASE.judged.items():
            writer.writerows([query, document, grade] for document, grade in judged.items())
    with (tmp_path / "results.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["run", "query_id", "doc_id", "score", "rank"])
        for run in RUNS:
            for query, rows in returned(run).items():
                writer.writerows([run, query, *row] for row in rows)
    return tmp_path


def write_scores(convention, cutoff, runs=RUNS, name="old.csv"):
    lines = ["query_id,run,score"]
    for run in runs:
        lines += [
            f"{query},{run},{score:.4f}"
            for query, score in scores_of(convention, cutoff, run).items()
        ]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def found(scores, limit=60.0, fixed=None, **settings):
    settings = {"judgments": "judgments.csv", "results": "results.csv", **settings}
    return like_scores.find_convention(
        sessions.engine(), validate(settings, "test"), scores, fixed, limit
    )


@pytest.mark.usefixtures("folder")
def test_a_table_of_scores_has_its_convention_and_its_cutoff():
    true = Convention(gain="linear", no_relevant="zero", missing_query="skip")
    one = found(write_scores(true, 5))
    assert (one.verdict, one.convention, one.cutoffs) == ("exact", true, [5])
    number = sum(len(scores_of(true, 5, run)) for run in RUNS)
    assert (one.compared, one.equal, one.is_finished) == (number, number, True)
    assert "pytrec_eval ties=doc_id_desc" not in one.presets
    assert all(alternative.on_all_rows for alternative in one.alternatives)
    assert one.first_difference is None


@pytest.mark.usefixtures("folder")
def test_a_sample_is_enlarged_by_the_queries_that_differ_on_all_rows(monkeypatch):
    monkeypatch.setattr(like_inputs, "_WHOLE_ROWS", 0)
    monkeypatch.setattr(like_inputs, "_QUERIES", 4)
    monkeypatch.setattr(like_inputs, "_OF_A_KIND", 1)
    true = Convention(ideal="retrieved", ties="average", no_relevant="one")
    one = found(write_scores(true, 5), cutoffs=[5])
    assert one.verdict == "exact"
    assert one.equal == one.compared == sum(len(scores_of(true, 5, run)) for run in RUNS)
    assert one.convention.ties == "average"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("most_rows", [None, 0])
def test_the_order_of_the_rows_can_be_the_order_of_the_job(monkeypatch, most_rows):
    if most_rows is not None:
        monkeypatch.setattr(like_inputs, "_WHOLE_ROWS", most_rows)
    true = Convention(order="rank", gain="linear", no_relevant="zero")
    with Path("ordered.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["query_id", "doc_id", "score"])
        for query, rows in CASE.returned.items():
            writer.writerows([query, doc, score] for doc, score, _ in rows)
    lines = ["query_id,score"]
    for query, judged in CASE.judged.items():
        rows = CASE.returned.get(query, [])
        positions = [(doc, score, at) for at, (doc, score, _) in enumerate(rows, 1)]
        score = reference.score(query, judged.items(), positions, true, 5)
        lines.append(f"{query},{score.ndcg:.6f}")
    Path("old.csv").write_text("\n".join(lines), encoding="utf-8")
    one = found("old.csv", fixed={"order": "file"}, results="ordered.csv", cutoffs=[5])
    assert (one.verdict, one.convention) == ("exact", true.replace(order="file"))


@pytest.mark.usefixtures("folder")
def test_what_trec_eval_prints_has_scores_and_means():
    convention = Convention.preset("trec_eval")
    # With -c it prints no line for a missing query, and divides by all of them.
    lines = []
    for cutoff in (5, 10):
        scores = scores_of(convention, cutoff)
        for query, score in scores.items():
            if query in CASE.returned:
                lines.append(f"ndcg_cut_{cutoff}  \t{query}\t{score:.4f}")
        lines.append(f"ndcg_cut_{cutoff}\tall\t{sum(scores.values()) / len(scores):.4f}")
    lines += ["map\ts0-00\t0.1234", "runid\tall\tbm25"]
    Path("old.txt").write_text("\n".join(lines), encoding="utf-8")
    one = found("old.txt")
    assert (one.verdict, one.convention.missing_query, one.cutoffs) == ("exact", "zero", [5, 10])
    assert one.convention.gain == "linear"
    assert any(label.startswith("trec_eval") for label in one.presets)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("old.txt", "ndcg_cut_5 all nan\nndcg_cut_5 q1 0.5\nndcg_cut_5 q2 nan\n"),
        ("old.csv", "query_id,ndcg@5\nq1,0.5\nq2,nan\n,nan\n"),
    ],
)
def test_a_score_that_is_nan_is_empty_in_every_format(name, text):
    Path(name).write_text(text, encoding="utf-8")
    numbers = {row.query_id: row.number for row in read_old_scores(name)}
    assert numbers == {"q1": "0.5", "q2": None, None: None}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("cutoff", ["0", "5_0", "\uff15"])
def test_a_cutoff_is_a_rank_in_plain_digits(cutoff):
    Path("old.csv").write_text(f"query_id,k,score\nq1,{cutoff},0.5\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not a cutoff"):
        read_old_scores("old.csv")


@pytest.mark.usefixtures("folder")
def test_means_are_consistent_with_a_convention_and_three_of_them_are_enough():
    true = Convention.preset("mllib_binary")
    rows = [("run", "cutoff", "score")]
    for run in RUNS:
        for cutoff in (3, 10):
            scores = scores_of(true, cutoff, run).values()
            rows.append((run, cutoff, f"{sum(scores) / len(scores):.5f}"))
    for several, is_enough in ((rows, True), (rows[:2], False)):
        with Path("means.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(several)
        one = found("means.csv")
        assert (one.verdict, one.has_enough_means) == ("consistent", is_enough)
        assert one.equal == one.compared == len(several) - 1
    assert one.verdict != "exact"


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_means_of_long_inputs_are_those_of_the_engine(monkeypatch):
    monkeypatch.setattr(like_inputs, "_WHOLE_ROWS", 0)
    true = Convention.preset("trec_eval")
    rows = ["run,cutoff,score"]
    for run in RUNS:
        for cutoff in (3, 10):
            scores = scores_of(true, cutoff, run).values()
            rows.append(f"{run},{cutoff},{sum(scores) / len(scores):.6f}")
    Path("means.csv").write_text("\n".join(rows), encoding="utf-8")
    # Each convention that is tried is an evaluation.
    fixed = {"discount": "log2", "unjudged": 0, "ties": "doc_id_desc", "score_precision": "float64"}
    one = found("means.csv", limit=20, fixed=fixed)
    assert (one.verdict, one.convention.gain) == ("consistent", "linear")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_first_query_that_differs_is_shown_with_the_gains_of_both_rankings():
    true = Convention(no_relevant="zero")
    scores = pd.read_csv(write_scores(true, 5, RUNS[:1]), dtype=str)
    at = scores.index[(scores["score"] != "0.0000") & (scores["score"] != "1.0000")][3]
    scores.loc[at, "score"] = "0.1234"
    scores.to_csv("wrong.csv", index=False)
    one = found("wrong.csv", cutoffs=[5])
    assert (one.verdict, one.equal) == ("nearest", one.compared - 1)
    first = one.first_difference
    assert (first.query_id, first.run, first.given) == (scores["query_id"][at], "bm25", 0.1234)
    ours = scores_of(true, 5)[first.query_id]
    assert first.ours == pytest.approx(ours)
    dcg = sum((side.gain or 0) * side.discount for side in first.ranks)
    ideal = sum((side.ideal_gain or 0) * side.discount for side in first.ranks)
    assert dcg / ideal == pytest.approx(ours)
    assert one.largest_difference == pytest.approx(abs(ours - 0.1234))
    assert first.ranks[0]._fields == SidesAtRank._fields


@pytest.mark.usefixtures("folder")
def test_a_search_that_has_no_time_says_so_and_has_a_best():
    scores = pd.read_csv(write_scores(Convention(), 5), dtype=str)
    scores["score"] = "0.4321"
    scores.to_csv("wrong.csv", index=False)
    one = found("wrong.csv", limit=0.0)
    assert (one.verdict, one.is_finished) == ("nearest", False)


@pytest.mark.usefixtures("folder")
def test_scores_of_unjudged_queries_are_left_aside_and_those_alone_refused():
    name = write_scores(Convention(), 5)
    scores = Path(name).read_text(encoding="utf-8")
    Path(name).write_text(f"{scores}nobody-judged-it,bm25,0.5\n", encoding="utf-8")
    one = found(name, cutoffs=[5])
    assert (one.verdict, len(one.notes)) == ("exact", 1)
    Path("others.csv").write_text("query_id,run,score\nx1,bm25,0.5\n", encoding="utf-8")
    with pytest.raises(InputError):
        found("others.csv")


@pytest.mark.usefixtures("folder")
def test_unjudged_queries_that_the_job_scores_move_its_mean():
    name = write_scores(Convention(), 5)
    before = found(name, cutoffs=[5])
    assert not before.has_other_means
    text = Path(name).read_text(encoding="utf-8")
    Path(name).write_text(f"{text}nobody-judged-it,bm25,0.0\n", encoding="utf-8")
    after = found(name, cutoffs=[5])
    (mean,) = after.other_means
    same = next(one for one in before.means if one.run == "bm25")
    assert (mean.run, mean.given_queries, mean.ours) == ("bm25", same.queries + 1, same.ours)
    assert mean.given == pytest.approx(same.given * same.queries / (same.queries + 1))


@pytest.mark.usefixtures("folder")
def test_a_cutoff_that_the_job_calls_otherwise_is_found():
    scores = pd.read_csv(write_scores(Convention(gain="linear"), 3), dtype=str)
    scores.rename(columns={"score": "ndcg@9"}).to_csv("named.csv", index=False)
    one = found("named.csv")
    assert (one.verdict, one.convention.gain, one.cutoffs) == ("exact", "linear", [3])
    assert len(one.notes) == 1


@pytest.mark.usefixtures("folder")
def test_a_run_that_is_given_is_the_one_of_several_that_the_scores_are_of():
    scores = pd.read_csv(write_scores(Convention(), 5, RUNS[:1]), dtype=str)
    scores.drop(columns="run").to_csv("one.csv", index=False)
    results = {"path": "results.csv", "run": RUNS[0]}
    one = found("one.csv", cutoffs=[5], results=results)
    assert (one.verdict, one.compared) == ("exact", len(scores))
    assert [mean.run for mean in one.means] == [RUNS[0]]
    # Of results that name no run, it is the name.
    pd.read_csv("results.csv", dtype=str).query("run == @RUNS[0]").drop(columns="run").to_csv(
        "nameless.csv", index=False
    )
    results = {"path": "nameless.csv", "run": "mine"}
    assert found("one.csv", cutoffs=[5], results=results).verdict == "exact"


@pytest.mark.usefixtures("folder")
def test_a_column_of_scores_may_have_any_name():
    scores = pd.read_csv(write_scores(Convention(), 5), dtype=str)
    scores["ndcg@5"] = "0.5"
    scores.rename(columns={"score": "mine"}).to_csv("named.csv", index=False)
    one = like_scores.find_convention(
        sessions.engine(),
        validate({"judgments": "judgments.csv", "results": "results.csv", "cutoffs": [5]}, "test"),
        "named.csv",
        columns={"score": "mine"},
    )
    assert one.verdict == "exact"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kept", ["every second", "those of one run and some"])
def test_scores_of_a_part_have_their_convention(kept):
    true = Convention(gain="linear", no_relevant="zero")
    scores = pd.read_csv(write_scores(true, 5), dtype=str)
    some = scores[1::2] if kept == "every second" else scores[: len(scores) * 2 // 3]
    some.to_csv("part.csv", index=False)
    one = found("part.csv", cutoffs=[5])
    assert (one.verdict, one.convention.gain) == ("exact", "linear")
    assert one.compared == one.equal == len(some)
    assert len(one.notes) == 1


@pytest.mark.usefixtures("folder")
def test_an_unknown_fixed_option_is_refused_before_anything_is_tried():
    with pytest.raises(ConfigurationError):
        found(write_scores(Convention(), 5), fixed={"gain": "cubic"})


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_command_prints_what_it_found_and_writes_it():
    name = write_scores(Convention.preset("trec_eval"), 5)
    paths = (name, "judgments.csv", "results.csv")
    asked = ("--cutoffs", "3,5", "--write", "found.toml", "--engine", "embedded")
    done = command_line("conventions", "--like", *paths, *asked, "--format", "json", cwd=".")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["verdict"], shown["cutoffs"]) == ("exact", ["5"])
    assert {"ranx"} <= {label.split()[0] for label in shown["presets"]}
    settings = tomllib.loads(Path("found.toml").read_text(encoding="utf-8"))
    config = validate({**settings, "judgments": paths[1], "results": paths[2]}, "found.toml")
    assert (config.convention.label, config.cutoffs) == (shown["convention"], [5])
    assert config.convention == Convention.preset("trec_eval")
    for style in ("table", "csv", "markdown"):
        done = command_line("conventions", "--like", *paths, *asked, "--format", style, cwd=".")
        assert (done.returncode, "told apart by" in done.stdout) == (0, style != "csv")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_what_is_not_exact_is_written_where_that_is_asked_for():
    scores = pd.read_csv(write_scores(Convention(), 5, RUNS[:1]), dtype=str)
    scores.loc[0, "score"] = "0.1234"
    scores = scores.rename(columns={"score": "mine"}).to_csv("wrong.csv", index=False)
    paths = ("wrong.csv", "judgments.csv", "results.csv")
    asked = ("--cutoffs", "5", "--write", "found.toml", "--column", "scores.score=mine")
    done = command_line("conventions", "--like", *paths, *asked, cwd=".")
    assert done.returncode == 3
    assert "--nearest" in done.stderr
    assert not Path("found.toml").exists()
    done = command_line("conventions", "--like", *paths, *asked, "--nearest", cwd=".")
    assert done.returncode == 0, done.stderr
    settings = tomllib.loads(Path("found.toml").read_text(encoding="utf-8"))
    assert settings["cutoffs"] == [5]


@pytest.mark.parametrize(
    "words",
    [
        ("--write", "x.toml"),
        ("--like", "a", "b", "c", "--nearest"),
        ("--like", "a", "b", "c", "--column", "scores.score"),
        ("--like", "a", "b", "c", "--compare", "b", "c"),
        ("--like", "a", "b", "c", "standard"),
        ("--like", "a", "b", "c", "--measures", "AP"),
        ("--compare", "b", "c", "--dataset", "x"),
        ("--dataset", "x"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(words, tmp_path):
    assert command_line("conventions", *words, cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_python_takes_tables_and_paths(folder):
    judgments = CASE.judged
    results = {
        run: {q: {doc: s for doc, s, _ in rows} for q, rows in returned(run).items()}
        for run in RUNS
    }
    true = Convention(gain="linear")
    rows = []
    for run in RUNS:
        fine, coarse = scores_of(true, 10, run), scores_of(true, 3, run)
        rows += [(run, query, coarse[query], fine[query]) for query in fine]
    frame = pd.DataFrame(rows, columns=["run", "qid", "ndcg@3", "NDCG@10"])
    one = ndcg_spark.find_convention(frame, judgments, results)
    assert (one.verdict, one.convention.gain, one.cutoffs) == ("exact", "linear", [3, 10])
    assert one.tolerance < 1.1e-6
    by_path = ndcg_spark.find_convention(write_scores(true, 5), "judgments.csv", "results.csv", [5])
    assert by_path.convention == one.convention
    with pytest.raises(ConfigurationError):
        ndcg_spark.find_convention(frame, judgments, results, gain="cubic")
