"""Exit codes: what a scheduler learns of a failure."""

import pytest

from ndcg_spark import errors
from ndcg_spark.errors import (
    BUG,
    DONE,
    ConfigurationError,
    ConventionError,
    EngineError,
    InputError,
    NdcgSparkError,
    StorageError,
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


def test_success_and_a_bug_have_exit_codes_that_no_explained_failure_has():
    explained = {ConfigurationError, ConventionError, InputError, EngineError, StorageError}
    assert (DONE, BUG) == (0, 1)
    assert {DONE, BUG}.isdisjoint(failure.exit_code for failure in explained)


def test_every_failure_of_the_module_can_be_caught_as_one():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(classes) >= 6
    assert all(issubclass(failure, NdcgSparkError) for failure in classes)


def test_a_wrong_convention_is_a_wrong_configuration_which_is_a_wrong_value():
    assert issubclass(ConventionError, ConfigurationError)
    assert issubclass(ConfigurationError, ValueError)


@pytest.mark.parametrize("failure", [InputError, EngineError, StorageError])
def test_a_failure_of_the_input_or_the_machine_is_no_wrong_value(failure):
    assert not issubclass(failure, ValueError)


def test_the_message_is_what_the_failure_says():
    assert str(ConventionError("convention: no preset is called 'x'")) == "convention: no preset is called 'x'"
