"""A Chromium for the tests of the page: found, or installed where this machine allows.

`python -m tests.support.browser` prints the one that the tests will use; with `--install` it installs one if there is none.
SUFFICE_BROWSER names one; with it, or with `SUFFICE_BROWSER=require`, tests fail where none starts. Else they are skipped.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMED, REQUIRED = "SUFFICE_BROWSER", "require"
ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    "no Chromium that starts was found: install one (apt-get install chromium, or python -m playwright install chromium), "
    f"or name one in {NAMED}"
)
FLAGS = (
    "--no-sandbox",  # Chromium refuses to start as root with a sandbox
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # no other host is called
)
PLAYWRIGHTS_OWN = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path, end="")
"""  # in a process of its own: in this one playwright may be running already


class NoBrowser(Exception):
    """No Chromium was found; the message says what to do."""


def wanted() -> bool:
    """Whether tests must fail without one."""
    return os.environ.get(NAMED, "") != ""


def find() -> str:
    """The path of a Chromium that starts; NoBrowser if there is none."""
    named = os.environ.get(NAMED, "")
    if named in ("", REQUIRED):
        for path in candidates():
            if starts(path):
                return path
        raise NoBrowser(MISSING)
    path = shutil.which(named) or ""
    if not starts(path):
        raise NoBrowser(f"{NAMED} must name a Chromium that starts, got {named!r}")
    return path


def candidates() -> Iterator[str]:
    """Paths on the PATH, and the browser that playwright installs."""
    yield from filter(None, map(shutil.which, ON_PATH))
    yield subprocess.run(
        [sys.executable, "-c", PLAYWRIGHTS_OWN], capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stdout


def starts(path: str) -> bool:
    """Whether it shows a page. On some systems `chromium` is a script that only says where to get one."""
    flags = ("--headless", "--disable-gpu", "--dump-dom", "data:text/html,<p>it starts")
    try:
        done = subprocess.run([path, *FLAGS, *flags], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"<p>it starts" in done.stdout


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


def install() -> str:
    """Install one by the system's packages (as root) or by playwright; its path, or NoBrowser."""
    root = shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0
    apt = ("apt-get", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20")
    commands = [(*apt, "update"), (*apt, "install", "-y", "chromium")] if root else []
    commands.append((sys.executable, "-m", "playwright", "install", *(["--with-deps"] if root else []), "chromium"))
    for command in commands:
        print(f"no Chromium that starts was found; trying {' '.join(command)} ...", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            subprocess.run(command, capture_output=True, timeout=600, stdin=subprocess.DEVNULL, env=environment)
            return find()
        except (OSError, subprocess.TimeoutExpired, NoBrowser):
            continue
    raise NoBrowser(MISSING)


def main() -> int:
    """Print the browser that the tests will use, or what happens to the tests that need one."""
    may_install = "--install" in sys.argv[1:] and os.environ.get(NAMED, "") in ("", REQUIRED)
    try:
        try:
            path = find()
        except NoBrowser:
            if not may_install:
                raise
            path = install()
    except NoBrowser as error:
        print(f"the browser tests will {'fail' if wanted() else 'be skipped'}: {error}")
        return 1
    print(f"the browser tests will use {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
