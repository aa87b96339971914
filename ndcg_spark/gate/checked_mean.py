"""The words for what a check of the gate measures."""


def checked_mean(
    measure: str,
    weighted: bool,
    slice_name: str | None,
    run: str | None = None,
) -> str:
    """What a check of the gate measures: `weighted ndcg@10 of hybrid for language=de`.

    `measure` includes its cutoff. Without `run`, the words hold for several runs.
    """
    words = [measure]
    if weighted:
        words.insert(0, "weighted")
    if run is not None:
        words.append(f"of {run}")
    if slice_name is not None:
        words.append(f"for {slice_name}")
    return " ".join(words)
