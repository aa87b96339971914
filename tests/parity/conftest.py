"""Options of the parity tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--parity-seeds", type=int, default=4, help="how many random cases the live tools are asked")
