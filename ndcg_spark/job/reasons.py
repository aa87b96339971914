"""The reasons that people give for their decisions, which the log keeps."""

from ndcg_spark.errors import ConfigurationError

#: What printed commands and pages write where somebody has to write a reason.
_PLACEHOLDERS = ("reason", "say why")


def refuse_no_reason(reason: str | None, option: str) -> None:
    """Raise ConfigurationError for a reason that is empty, or that was copied from a command.

    None means that there is no decision.
    """
    if reason is None:
        return
    text = reason.strip()
    if not text:
        raise ConfigurationError("it needs a reason, which the log keeps; say why", option=option)
    if text.casefold() in _PLACEHOLDERS:
        sentence = f"{text!r} only marks where the reason belongs, which the log keeps"
        raise ConfigurationError(f"{sentence}; write the reason", option=option)
