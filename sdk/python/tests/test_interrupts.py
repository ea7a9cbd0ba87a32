"""Signals whose handlers raise, such as Ctrl-C and Celery's soft time limits, at every instant of a call."""

import concurrent.futures
import contextlib
import gc
import random
import signal
import sys
import threading
import time

import pytest

import turnlog


class Interrupted(BaseException):
    """What the handler raises."""


class SoftLimitError(Exception):
    """What Celery's handler raises is an Exception, which a library may take for its own."""


class Interrupter:
    """Raises at one bytecode instruction of what is called meanwhile, the libraries' own included."""

    def __init__(self, at, kind):
        self.left, self.kind = at, kind
        self.thread = None

    def __enter__(self):
        self.thread = threading.get_ident()
        gc.disable()  # a finaliser swallows what is raised
        if sys.version_info >= (3, 12):
            events = sys.monitoring
            events.use_tool_id(events.DEBUGGER_ID, "interrupter")
            events.register_callback(events.DEBUGGER_ID, events.events.INSTRUCTION, self._instruction)
            events.set_events(events.DEBUGGER_ID, events.events.INSTRUCTION)
        else:
            sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, 0)
            sys.monitoring.free_tool_id(sys.monitoring.DEBUGGER_ID)
        else:
            sys.settrace(None)
        gc.enable()

    def _trace(self, frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode":
            self._instruction(frame.f_code, frame.f_lasti)
        return self._trace

    def _instruction(self, code, _):
        if threading.get_ident() != self.thread or "/pytest" in code.co_filename or code.co_filename == __file__:
            return
        self.left -= 1
        if self.left == 0:
            raise self.kind


def interrupted_at(at, kind, call, prepared):
    """Interrupt a call at one of its instructions; False: it has not so many."""
    interrupter = Interrupter(at, kind)
    with contextlib.suppress(kind), interrupter:
        call(prepared)
    return interrupter.left <= 0


def interrupted_everywhere(prepare, call, check, kind, step=1):
    """Interrupt ``call`` at each of its instructions, one after another; return how many there were."""
    at, times = 1, 0
    while True:
        prepared = prepare()
        # Where a tracer can raise and no signal, Python 3.11 keeps a wrong exception as the thread's current one.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            if not pool.submit(interrupted_at, at, kind, call, prepared).result():
                return times
        times += 1
        check(prepared)
        at += step


@pytest.mark.parametrize("kind", [Interrupted, SoftLimitError])
@pytest.mark.parametrize("traced", [False, True])
def test_a_signal_at_any_instruction_of_a_call_costs_no_connection_and_no_reply(cluster, key, kind, traced):
    """One that came between two instructions of the semaphore cost one of max_connections for good."""
    client = turnlog.Client(
        cluster.nodes[0].resp,
        max_connections=1,
        retry_for=60,
        traceparent=(lambda: "00-" + "1" * 32 + "-" + "2" * 16 + "-01") if traced else None,
    )
    one, other = client.session(key + "-one"), client.session(key + "-other")
    one.append("one")
    other.append("other")

    def check(_):
        assert [m.text() for m in other.last(1).messages] == ["other"]
        assert [m.text() for m in one.last(1).messages] == ["one"]

    assert interrupted_everywhere(lambda: None, lambda _: one.last(1), check, kind) > 300


@pytest.mark.parametrize("kind", [Interrupted, SoftLimitError])
def test_a_signal_at_any_instruction_of_an_append_stores_it_once_or_not(cluster, key, kind):
    client = turnlog.Client(cluster.nodes[0].resp, max_connections=1, retry_for=60)
    s = client.session(key)
    kept = set()

    def prepare():
        return turnlog.NewMessage(f"{len(kept)}", id=f"id-{len(kept)}")

    def check(message):
        again = s.append(message)  # the same id: it settles what became of the first
        assert again.first_seq == len(kept) + 1
        kept.add(message.data)

    times = interrupted_everywhere(prepare, s.append, check, kind)
    assert times > 300
    assert [m.text() for m in s.all()] == [f"{i}" for i in range(len(kept))] + [f"{len(kept)}"]


def test_a_signal_at_any_instruction_of_the_first_call_costs_no_connection(cluster, key):
    """It connects, which is where most instructions are."""
    turnlog.Client(cluster.addresses).session(key).append("x")

    def prepare():
        return turnlog.Client(cluster.nodes[0].resp, max_connections=1, retry_for=60)

    def check(client):
        with client:
            assert client.session(key).last(1).count == 1

    assert interrupted_everywhere(prepare, lambda c: c.session(key).last(1), check, Interrupted, step=5) > 300


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_thousands_of_signals_while_threads_share_the_connections(cluster, key):
    """Signals at random instants, also of calls that wait for a connection, beside threads that get none."""
    client = turnlog.Client(cluster.nodes[0].resp, max_connections=2, retry_for=20)
    done = threading.Event()

    def busy(name):
        s = client.session(f"{key}-{name}")
        s.append(name)
        calls = 0
        while not done.is_set():
            assert [m.text() for m in s.last(1).messages] == [name]
            calls += 1
        return calls

    armed = False

    def interrupt(*_):
        if armed:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    own, interrupts = client.session(key), 0
    own.append("own")
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            others = [pool.submit(busy, name) for name in ("a", "b", "c")]
            try:
                while interrupts < 2000:
                    try:
                        armed = True
                        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2e-3))
                        while True:
                            assert [m.text() for m in own.last(1).messages] == ["own"]
                    except Interrupted:
                        armed = False
                        interrupts += 1
            finally:
                done.set()
            assert min(o.result(60) for o in others) > 0
    finally:
        armed = False
        signal.signal(signal.SIGALRM, before)
    # Both connections are there still: two calls at once, each of which holds one.
    together = threading.Barrier(2, timeout=60)

    def hold(_):
        slot = turnlog.slots.Slot()
        try:
            client._router.nodes[0].take(slot, None)
            together.wait()
        finally:
            client._router.nodes[0].slots.give_back(slot)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(hold, range(2)))


def test_a_slot_that_is_garbage_is_free_for_a_call_that_waits():
    slots = turnlog.slots.Slots(1)
    lost, waiting = turnlog.slots.Slot(), turnlog.slots.Slot()
    assert slots.take(lost, 0)
    assert not slots.take(turnlog.slots.Slot(), 0)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        got = pool.submit(slots.take, waiting, 60)
        del lost
        assert got.result(60)
    assert not slots.take(turnlog.slots.Slot(), 0)
    slots.give_back(waiting)
    assert slots.take(turnlog.slots.Slot(), 0)


def test_slots_are_taken_in_the_order_of_the_calls():
    slots = turnlog.slots.Slots(1)
    first = turnlog.slots.Slot()
    assert slots.take(first, 0)
    order = []

    def take(n):
        slot = turnlog.slots.Slot()
        assert slots.take(slot, 60)
        order.append(n)
        slots.give_back(slot)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for n in range(8):
            pool.submit(take, n)
            while len(slots._taken) < n + 2:
                time.sleep(0.001)
        slots.give_back(first)
    assert order == list(range(8))
