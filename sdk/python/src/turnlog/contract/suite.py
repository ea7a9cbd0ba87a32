"""The suite, as a test module runs it against its memory."""

from __future__ import annotations

import fnmatch
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union

BINARY = "TURNLOG_BINARY"
BACKEND = "TURNLOG_CONTRACT_BACKEND"


class SuiteError(Exception):
    """The suite could not be run."""


@dataclass(frozen=True)
class Case:
    """A case, and what came of it once it was run.

    Attributes:
        name: GATE/NAME.
        proves: What should hold.
        incident: Which published incident it guards against.
        seed: Repeats its messages and choices.
        status: ``"pass"``, ``"FAIL"``, ``"undecided"`` or ``"not supported"``; empty: it was not run.
        detail: Which message was lost, doubled, torn or foreign, and what happened around it; or
            what the store lacks.
    """

    name: str
    proves: str
    incident: str
    seed: int
    status: str = ""
    detail: str = ""

    @property
    def gate(self) -> str:
        """The gate to which it belongs."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """What a suite is run with."""

    gates: Sequence[str] = ()
    cases: Sequence[str] = ()
    require: Sequence[str] = ()
    writers: int | None = None
    turns: int | None = None
    timeout: float | None = None
    seed: int | None = None
    shared: bool = False
    can: Sequence[str] = ()
    backend: str | None = None
    restart_command: str | None = None


class Contract:
    """A memory that is held to the contract. In a test module, each case becomes a test item.

    For example:

        contract = Contract("my_app.memory:store", gates=["sequential", "concurrency"])

    The store runs in processes of its own, as the one in production does. It is a function, or its
    name as MODULE:FUNCTION:

    - of a session's key (and a time to live in seconds, or None), that returns what your
      application would use for it: LangChain's ``BaseChatMessageHistory``, or a ``Session`` of the
      OpenAI Agents SDK;
    - or without parameters, that returns an object for all sessions, with ``add(session, turn)``,
      ``load(session)`` and ``clear(session)``. A turn is a list of messages, each a dictionary with
      ``role``, ``content`` and ``id``, and where tools are called ``tool_calls`` (of ``id``, ``name``
      and ``arguments``) or ``tool_call_id``. ``load`` returns such messages.

    The object may have more, and is held to it as well: ``delete(session)``, ``trim(session, keep)``,
    ``pop(session)``, ``sessions(prefix)``, ``load(session, last=)``, ``add(session, turn, ttl=)`` in
    seconds, ``aadd``, ``aload`` and ``aclear`` for asyncio, ``corrupt(session)``, which leaves a message
    unreadable; ``load_version(session)``, which returns messages and a version, with ``add(session, turn,
    version=)``, which raises ``Conflict`` if the session has changed since; ``load_with(session)``, which
    returns messages and the metadata of that moment, with ``add(session, turn, metadata=, must_exist=)``, which
    raises ``Conflict`` if there is no session that must exist; ``labelled(name, value)``, which returns the
    sessions whose metadata ``label.NAME`` has the value, the one that changed last first; ``retain(session, keep)``,
    after which the session keeps its newest messages, so many, by itself; ``claims``, a list of ``"ids"``,
    ``"late ids"`` and ``"linearizable"``; ``shared = True``, if other processes see the same data; ``max_bytes``.
    A parameter ``timeout`` gets the seconds that a call may take. ``Refused`` and ``NotApplied`` say that an error
    changed nothing.

    Args:
        store: The function, or its name.
        gates: Only these gates; default: all.
        cases: Only these cases, with * and ?.
        require: Gates whose cases fail if the store does not support them.
        writers: How many write at once.
        turns: How many turns each of them saves.
        timeout: Seconds for a case.
        seed: Runs all cases with another seed.
        shared: Other processes see the same data, although the store does not say so.
        can: What the store promises besides, such as ``"ids"``.
        backend: The URL of the server behind the store, whose connections the suite breaks. The
            store gets the address to connect to in the variable TURNLOG_CONTRACT_BACKEND.
        restart_command: A shell command that ends that server, as harshly as it is meant to
            survive, starts it again, and returns.
    """

    def __init__(self, store: Union[str, Callable[..., Any]], **options: Any) -> None:
        self.store: str = store if isinstance(store, str) else f"{store.__module__}:{store.__qualname__}"
        self.options: Options = Options(**options)

    def all(self) -> list[Case]:
        """List the cases."""
        listed = _cases(self._verify(["--list"], pathlib.Path.cwd()))
        chosen = [case for case in listed if self._chooses(case)]
        if not chosen:
            raise SuiteError(f"no case of the contract is in {self.options.gates or self.options.cases}")
        return chosen

    def _chooses(self, case: Case) -> bool:
        patterns = self.options.cases
        names = (case.name, case.name.partition("/")[2])
        return (not self.options.gates or case.gate in self.options.gates) and (
            not patterns or any(fnmatch.fnmatchcase(n, p) for n in names for p in patterns)
        )

    def run(self, cases: Sequence[str], root: pathlib.Path) -> list[Case]:
        """Run some cases, with the store's modules below root or on this process's path."""
        o = self.options
        arguments = [f"exec:{self._command()}", "--case", ",".join(cases)]
        for flag, value in (
            ("--writers", o.writers),
            ("--turns", o.turns),
            ("--timeout", f"{o.timeout}s" if o.timeout else None),
            ("--seed", o.seed),
            ("--backend", o.backend),
            ("--restart-cmd", o.restart_command),
        ):
            arguments += [flag, str(value)] if value is not None else []
        return _cases(self._verify(arguments, root)["cases"])

    def _command(self) -> str:
        """The command that serves the store to the suite."""
        words = [sys.executable, "-m", "turnlog.contract", self.store]
        words += ["--shared"] * self.options.shared + _each("--can", self.options.can)
        place = f"{BACKEND}={{backend}} " if self.options.backend else ""
        return place + "exec " + shlex.join(words)

    @staticmethod
    def _verify(arguments: Sequence[str], root: pathlib.Path) -> Any:
        command = [_binary(), "verify", "--json", *arguments]
        path = os.pathsep.join([p or str(root) for p in sys.path])
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, check=False, cwd=root, env=os.environ | {"PYTHONPATH": path}
        )
        try:
            return json.loads(done.stdout)
        except ValueError as e:
            said = done.stderr.decode(errors="replace")[-4000:]
            raise SuiteError(f"{shlex.join(command)} ended with status {done.returncode}:\n{said}") from e


def _cases(found: list[dict[str, Any]]) -> list[Case]:
    return [
        Case(c["case"], c["proves"], c["incident"], c["seed"], c.get("status", ""), c.get("detail", "")) for c in found
    ]


def _each(flag: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (flag, value)]


def _binary() -> str:
    """Where the program turnlog is: what TURNLOG_BINARY says, beside this Python, or on the path."""
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = os.environ.get(BINARY) or shutil.which("turnlog", path=path)
    if not found:
        raise SuiteError(
            f"the program turnlog, which runs the contract, is not on the path: install it, or set {BINARY} to it"
        )
    return found
