"""The documents that are to be judged next."""

import math

from programs import command_line


def test_the_document_to_judge_next_is_the_unjudged_one_with_the_largest_discounts(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n", encoding="utf-8")
    lists = {"one": ["x", "a", "y"], "two": ["a", "x", "y"]}
    for run, documents in lists.items():
        rows = (f"q1 Q0 {doc} {at} {-at}.0 {run}\n" for at, doc in enumerate(documents, start=1))
        (tmp_path / f"{run}.run").write_text("".join(rows), encoding="utf-8")
    arguments = ("judge-next", "qrels.txt", "one.run", "two.run", "--cutoffs", "2", "--format", "csv")
    printed = command_line(*arguments, cwd=tmp_path).stdout
    assert printed == (f"dataset,query_id,doc_id,runs,best_rank,weight\ndefault,q1,x,2,1,{1 + 1 / math.log2(3)!r}\n")
    # A list that unjudged documents leave has the same ones to judge.
    assert command_line(*arguments, "--set", "unjudged=drop", cwd=tmp_path).stdout == printed
    table = command_line(*arguments[:-2], "--documents", "1", cwd=tmp_path).stdout
    assert table.splitlines()[1].split() == ["q1", "x", "2", "1", f"{1 + 1 / math.log2(3):.4f}"]
