"""Streams by what a user types: names, settings, logs, and Python files."""

from pathlib import Path

import pytest

from suffice.lab.run_stream import open_stream, parsed, parts
from tests.support.refusals import refused

COINS = """
import suffice

class Coins:
    name = "coins"
    description = "a coin"
    menu = suffice.Menu({"half": 0.5, "all": 1}, safe="all", skip="none")

    @classmethod
    def from_settings(cls, *, chance: float = 0.5):
        if not 0 <= chance <= 1:
            raise ValueError("chance must be a share")
        made = cls()
        made.chance = chance
        return made

    def draw(self, rng, count):
        return rng.random(count)

    def outcome(self, latent, arm, price):
        return ((0.0, 0.0), (float(latent < self.chance), 0.5), (1.0, 1.0))[arm]
"""


@pytest.mark.parametrize("text", ["3", "-2", "0.5", "1e3", "true", "Off", "none", "5,10", "7,", "a,b", "", "hover"])
def test_settings_are_parsed(text: str) -> None:
    wanted = {"3": 3, "-2": -2, "0.5": 0.5, "1e3": 1000.0, "true": True, "Off": False, "none": None, "5,10": (5, 10),
              "7,": (7,)}  # fmt: skip
    assert parsed(text) == wanted.get(text, text)


def test_settings_reach_the_stream(tmp_path: Path) -> None:
    assert parts("log.csv:safe=b,skip=skip") == ("log.csv", ("safe=b", "skip=skip"))
    assert open_stream("ranks:ks=5,10,least=2").stream.menu.options == (5, 10)
    assert open_stream("ranks", ["ks=5,10"]).stream.menu.options == (5, 10)
    path = tmp_path / "log.csv"
    path.write_text("success:1,cost:1,success:a,cost:a\n1,2,1,0.1\n1,2,0,0.1\n")
    opened = open_stream(str(path), ["skip=skip", "safe=1"])
    assert (opened.stream.menu.safe, opened.stream.menu.skip, opened.stream.menu.safe_cost) == ("1", "skip", 2.0)
    assert opened.horizon == 2  # its rows


def test_streams_of_a_users_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(COINS)
    opened = open_stream(str(path), ["chance=0.8"])
    assert (opened.name, opened.about, opened.horizon) == ("coins", "a coin", 20_000)
    assert opened.stream.outcome(0.7, 1, 0.0) == (1.0, 0.5)
    refused(
        lambda: open_stream(str(path), ["chance=7"]),
        "settings must suit 'coins', got ValueError: chance must be a share (settings of coins: chance=0.5",
    )
    path.write_text(COINS + COINS.replace("Coins", "More").replace('"coins"', '"more"'))
    refused(lambda: open_stream(str(path)), "stream must say which of coins, more")
    assert open_stream(f"{path}:more").name == "more"
    refused(lambda: open_stream(f"{path}:less"), "stream must be one of coins, more")


@pytest.mark.parametrize(
    ("text", "setting", "message"),
    [
        ("nowhere.py", "", "path must name a Python file"),
        ("log", "", "log must be named by its file"),
        ("trap", "first=many", "first must be a whole number, got 'many' (settings of trap: first=800, last=1300"),
        ("trap:first=9,last=3", "", "first must be at most last, got 9 and 3 (settings of trap"),
        ("trap", "safe=safe", "set must name a setting, got 'safe'"),
        ("log.csv", "", "path must name a file that can be read"),
    ],
)
def test_what_cannot_be_opened(text: str, setting: str, message: str) -> None:
    refused(lambda: open_stream(text, [setting] if setting else []), message)
