"""The cases of a contract as test items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from turnlog.contract.suite import Case, Contract, SuiteError


class Broken(Exception):  # noqa: N818
    """A case does not hold."""


class ContractCollector(pytest.Collector):
    """A contract. The cases of a gate that are to run do so together, when the first of them is due."""

    def __init__(self, *, contract: Contract, **more: Any) -> None:
        super().__init__(**more)
        self.contract = contract
        self._results: dict[str, Case] = {}

    def collect(self) -> Iterator[pytest.Item]:
        """List the cases."""
        try:
            cases = self.contract.all()
        except SuiteError as e:
            raise self.CollectError(str(e)) from e
        for case in cases:
            yield ContractItem.from_parent(self, name=case.name, case=case)

    def result(self, case: Case) -> Case:
        """Return what came of a case."""
        if case.name not in self._results:
            chosen = [
                item.name
                for item in self.session.items
                if isinstance(item, ContractItem) and item.parent is self and item.case.gate == case.gate
            ]
            for done in self.contract.run(chosen or [case.name], self.config.rootpath):
                self._results[done.name] = done
        return self._results[case.name]


class ContractItem(pytest.Item):
    """A case."""

    parent: ContractCollector

    def __init__(self, *, case: Case, **more: Any) -> None:
        super().__init__(**more)
        self.case = case
        self.user_properties += [("incident", case.incident), ("seed", case.seed)]

    def runtest(self) -> None:
        """Run the case, unless it was run with an earlier one."""
        done = self.parent.result(self.case)
        required = done.gate in self.parent.contract.options.require
        if done.status == "not supported" and not required:
            pytest.skip(f"the store does not support: {done.detail}")
        if done.status != "pass":
            raise Broken(explain(done))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what the suite says, without a traceback of this plugin."""
        if isinstance(excinfo.value, (Broken, SuiteError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Head a failure with the case."""
        return self.path, None, f"{self.parent.name}: {self.name}"


def explain(case: Case) -> str:
    """Say what should hold, and what came of it."""
    return (
        f"{case.status}: {case.name}\n"
        f"should hold: {case.proves}\n"
        f"guards against incident {case.incident}; seed {case.seed} repeats it\n"
        f"{case.detail}"
    )
