import pytest

from ports import FIRST, LAST, reserved


def test_a_reserved_port_is_given_once(ports):
    with reserved(400) as some, reserved(30, in_a_row=True) as row:
        assert row == list(range(row[0], row[0] + 30))
        given = {*some, *row, *ports(100)}
        assert len(given) == 530
        assert min(given) >= FIRST
        assert max(given) <= LAST, "an outgoing connection may have it"


def test_ports_that_are_not_to_be_had(monkeypatch):
    with reserved(10, in_a_row=True) as (first, *_):
        monkeypatch.setattr("ports.FIRST", first)
        monkeypatch.setattr("ports.LAST", first + 9)
        with pytest.raises(RuntimeError), reserved(1):
            pass
    with reserved(10, in_a_row=True) as row:
        assert row[0] == first
