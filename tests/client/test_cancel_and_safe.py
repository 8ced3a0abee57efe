"""Cancelling and playing safe through both clients."""

import pytest

from suffice import AlreadyTold, SafeUnavailable, UnknownDecision
from suffice.client import FALLBACK_ID
from tests.support.client_harness import Harness


def test_cancel(harness: Harness) -> None:
    selector = harness.selector()
    decision = selector.ask()
    selector.cancel(decision)
    selector.cancel(decision.id)  # again is no error
    certificate = selector.certificate()
    assert (certificate.cancelled, certificate.pending, certificate.asked) == (1, 0, 1)
    with pytest.raises(AlreadyTold, match="was cancelled"):
        selector.tell(decision, True)
    told = selector.ask()
    selector.tell(told, True)
    with pytest.raises(AlreadyTold, match="cannot be cancelled"):
        selector.cancel(told)
    with pytest.raises(UnknownDecision):
        selector.cancel("d-99")


def test_a_fallback_decision_needs_no_cancelling(harness: Harness) -> None:
    selector = harness.selector(fallback="safe")
    harness.service.down = True
    decision = selector.ask()
    assert decision.id == FALLBACK_ID
    requests = len(harness.service.requests)
    selector.cancel(decision)
    assert len(harness.service.requests) == requests


def test_play_safe(harness: Harness) -> None:
    selector = harness.selector()
    assert not selector.ask().is_safe
    selector.play_safe()
    assert all(decision.is_safe for decision in selector.ask_many(3))
    assert selector.overview().playing_safe
    with pytest.raises(SafeUnavailable):
        selector.ask(available=["a", "b"])
    assert selector.ask(available=["a", "b"], insist=True).option in ("a", "b")
    selector.play_safe(False)
    assert not selector.overview().playing_safe
    assert not selector.ask().is_safe


def test_a_remote_certificate_is_shown_in_a_notebook(harness: Harness) -> None:
    certificate = harness.selector().certificate()
    assert certificate._repr_html_().startswith("<div><p")
    assert certificate.verdict == str(certificate).partition("\n")[0]
    assert certificate.verdict in certificate._repr_html_()
