"""The status of a certificate, of one selector and of groups."""

import pytest

from suffice import Menu, Selector
from suffice.promise.certificate import STATUSES


def test_every_status_of_one_selector() -> None:
    seen = {}

    def look(selector: Selector) -> None:
        found = selector.certificate()
        seen[found.status] = found.verdict
        assert found.status in STATUSES
        assert str(found).startswith(found.verdict)

    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0), 0.9)
    look(selector)
    decision = selector.ask()
    selector.tell(decision, True)
    look(selector)
    while not (decision := selector.ask()).is_safe:
        selector.tell(decision, False)
    for _ in range(200):
        selector.tell(decision, False)
        look(selector)
        decision = selector.ask()
    lost = Selector(Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0), 0.9)
    for _ in range(3):
        lost.expire(lost.ask())
    look(lost)
    once = Selector(Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0), 0.9)
    once.tell(once.ask(), False)
    look(once)
    assert set(seen) == {"waiting", "kept", "breach", "infeasible", "unknown", "warned"}
    assert seen["kept"].startswith("Kept: ")
    assert seen["breach"].startswith("BROKEN: ")
    assert seen["infeasible"].startswith("TARGET OUT OF REACH: ")
    assert seen["unknown"].startswith("NOT KNOWN: ")
    assert seen["warned"].startswith("Kept: ")


def test_the_worst_group_speaks_for_all() -> None:
    selector = Selector(Menu({"a": 0.1}, safe="all", skip="none", safe_cost=1.0), 0.9)
    for group in ("Oslo", "Bergen"):
        selector.tell(selector.ask(group=group), True)
    assert selector.certificate().status == "kept"
    for _ in range(30):
        decision = selector.ask(group="Oslo")
        selector.tell(decision, False)
    assert selector.certificate(group="Bergen").status == "kept"
    assert selector.certificate().status == selector.certificate(group="Oslo").status in ("breach", "infeasible")


@pytest.mark.parametrize("target", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.999])
def test_a_debt_at_its_bound_is_within_it(target: float) -> None:
    """One lost play of the safe option owes one target, which is its bound without that play: exactly, not up to rounding."""
    selector = Selector(Menu(["a"], safe="S", skip="K", costs=[0.1], safe_cost=1.0), target)
    selector.expire(selector.ask())
    certificate = selector.certificate()
    assert (certificate.safe_lost, certificate.status) == (1, "kept")
