"""A real Chromium for tests: found, or installed where the machine allows.

`python -m tests.support.browser` says which one is taken; with `--install` it installs one if there is none.
SUFFICE_BROWSER names the one to take; with it, or with `SUFFICE_BROWSER=require`, tests fail where there is none.
Without it they are skipped.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMED = "SUFFICE_BROWSER"
REQUIRED = "require"
ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    "no Chromium that starts was found: install one (apt-get install chromium, or python -m playwright install chromium), "
    f"or name one in {NAMED}"
)
FLAGS = (
    "--no-sandbox",  # where the tests are root's, it would not start with one
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # whatever is asked for, nobody is called
)
OWN = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path, end="")
"""  # asked in a process of its own: in this one a browser may be running already
LONGEST = 600  # seconds for which an installer may run


class NoBrowser(Exception):
    """There is none; the message says what to do."""


def wanted() -> bool:
    """Whether somebody said that there must be one."""
    return os.environ.get(NAMED, "") != ""


def find() -> str:
    """The path of a Chromium that starts; NoBrowser if there is none."""
    named = os.environ.get(NAMED, "")
    if named not in ("", REQUIRED):
        path = shutil.which(named)
        if path is None or not starts(path):
            raise NoBrowser(f"{NAMED} must name a Chromium that starts, got {named!r}")
        return path
    for path in candidates():
        if starts(path):
            return path
    raise NoBrowser(MISSING)


def candidates() -> Iterator[str]:
    """Where one may be: on the PATH, and where playwright puts its own."""
    for name in ON_PATH:
        path = shutil.which(name)
        if path is not None:
            yield path
    own = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    if os.path.exists(own):
        yield own


def starts(path: str) -> bool:
    """Whether it shows a page. Some systems have a Chromium that only says where to get one."""
    flags = ("--headless", "--disable-gpu", "--dump-dom", "data:text/html,<p>it starts")
    try:
        said = subprocess.run([path, *FLAGS, *flags], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"<p>it starts" in said.stdout


@contextmanager
def launched(path: str) -> Iterator["Browser"]:
    """The browser, running. While it does, this thread has an event loop: `asyncio.run` is refused in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


# --- installing


def install() -> str:
    """Install one by the means of this machine; its path, or NoBrowser."""
    for command in installers():
        print(f"no Chromium that starts was found; trying {' '.join(command)} ...", flush=True)
        if ran(*command):
            try:
                return find()
            except NoBrowser:
                continue
    raise NoBrowser(MISSING)


def installers() -> Iterator[tuple[str, ...]]:
    """The commands that may bring one, the system's own first."""
    system = shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0
    if system:
        patience = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20")
        yield ("apt-get", "install", "-y", *patience, "chromium")
        if ran("apt-get", "update", *patience):  # the list of packages may be old, or not there
            yield ("apt-get", "install", "-y", *patience, "chromium")
    yield (sys.executable, "-m", "playwright", "install", *(["--with-deps"] if system else []), "chromium")


def ran(*command: str) -> bool:
    """Whether a command did what it should."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST, stdin=subprocess.DEVNULL, env=quiet)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> int:
    """Say which browser is taken, or what becomes of the tests that need one."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.browser", description="A Chromium for the tests of the page."
    )
    parser.add_argument("--install", action="store_true", help="install one if there is none")
    given = parser.parse_args()
    try:
        try:
            path = find()
        except NoBrowser:
            if not given.install or os.environ.get(NAMED, "") not in ("", REQUIRED):
                raise
            path = install()
    except NoBrowser as error:
        print(f"the browser tests will {'fail' if wanted() else 'be skipped'}: {error}")
        return 1
    print(f"the browser tests will use {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
