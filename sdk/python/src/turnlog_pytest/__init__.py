"""The pytest plugin of turnlog: a ``turnlog.contract.Contract`` in a test module becomes test items.

It is loaded in every run of pytest, so it imports nothing until there is a contract.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .items import ContractCollector


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> ContractCollector | None:
    """Collect a contract."""
    contract = sys.modules.get("turnlog.contract")
    if contract is None or not isinstance(obj, contract.Contract):
        return None
    from .items import ContractCollector  # noqa: PLC0415

    collected: ContractCollector = ContractCollector.from_parent(collector, name=name, contract=obj)
    return collected
