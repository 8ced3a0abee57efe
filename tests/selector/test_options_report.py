"""The rows of `Selector.options`."""

from suffice import Menu, Selector


def test_the_options_played_most_come_first() -> None:
    selector = Selector(Menu.top_k([1, 2, 5], classes=10), 0.9)
    for step in range(500):
        decision = selector.ask()
        selector.tell(decision, step % 7 < decision.option)
    every = selector.options()
    for most in (1, 3, 5, 100):
        assert selector.options(most) == sorted(every, key=lambda arm: -arm.plays)[:most]
