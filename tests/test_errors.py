"""Exit codes: what a scheduler learns of a failure."""

import pytest

from ndcg_spark.errors import (
    ConfigurationError,
    ConventionError,
    EngineError,
    InputError,
    NdcgSparkError,
    StorageError,
    first_line,
)


@pytest.mark.parametrize(
    ("failure", "exit_code"),
    [
        (NdcgSparkError, 1),
        (ConfigurationError, 2),
        (ConventionError, 2),
        (InputError, 3),
        (EngineError, 4),
        (StorageError, 4),
    ],
)
def test_each_failure_has_the_exit_code_of_its_kind(failure, exit_code):
    assert failure("results: what happened").exit_code == exit_code


def test_a_wrong_convention_is_a_wrong_configuration_which_is_a_wrong_value():
    assert issubclass(ConventionError, ConfigurationError)
    assert issubclass(ConfigurationError, ValueError)


@pytest.mark.parametrize(
    ("said", "line"), [("\n one \ntwo", "one "), ("", "ValueError"), ("x" * 1000, "x" * 300)], ids=["lines", "", "long"]
)
def test_the_first_line_of_an_exception_is_short_and_never_empty(said, line):
    assert first_line(ValueError(said)) == line
