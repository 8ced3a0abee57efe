"""The files of the page, without a browser: how they are served, and that they refer to no other host."""

import re
from pathlib import Path

import pytest

from suffice.service.http.gateway import CSP
from suffice.service.http.static_page import FOLDER, MEDIA
from tests.support.calling import Api, serve

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
OWN = [name for name in FILES if not name.startswith("vendor/")]


def test_all_files_are_served_and_only_they() -> None:
    async def do(api: Api) -> None:
        for name in FILES:
            answer = await api.http.get(f"/static/{name}")
            assert answer.status_code == 200, name
            assert answer.content == (FOLDER / name).read_bytes()
            assert answer.headers["content-type"] == MEDIA[Path(name).suffix]
            assert answer.headers["content-security-policy"] == CSP
            tag = answer.headers["etag"]
            for had in (tag, f"W/{tag}", f'"another", {tag}'):  # a proxy that compresses weakens the tag
                again = await api.http.get(f"/static/{name}", headers={"if-none-match": had})
                assert (again.status_code, again.content) == (304, b""), had
            again = await api.http.get(f"/static/{name}", headers={"if-none-match": '"another"'})
            assert (again.status_code, again.content) == (200, answer.content)
        page = await api.http.get("/")
        assert page.content == (FOLDER / "index.html").read_bytes()
        assert page.headers["cache-control"] == "no-cache"
        assert (await api.http.head("/")).status_code == 200
        for path in (
            "../http/page.py",
            "%2e%2e/http/page.py",
            "/etc/passwd",
            "",
            "vendor",
            "nothing.js",
            "..\\page.py",
        ):
            await api.call("GET", f"/static/{path}", status=404)

    serve(do)


@pytest.mark.parametrize("name", OWN)
def test_files_refer_to_no_other_host(name: str) -> None:
    """No address of another host, nothing inline that the policy refuses, and no text that becomes markup."""
    if Path(name).suffix not in (".html", ".css", ".js"):
        return
    text = (FOLDER / name).read_text(encoding="utf-8")
    foreign = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)) - {"http://www.w3.org"}
    assert not foreign
    if name.endswith(".html"):
        assert not re.search(r"<style|style=|javascript:|\bon[a-z]+=", text)
        assert all('src="' in tag for tag in re.findall(r"<script[^>]*>", text))
    if name.endswith(".js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_vendored_code_has_its_licence() -> None:
    for folder in (path for path in (FOLDER / "vendor").iterdir() if path.is_dir()):
        assert "Permission is hereby granted" in (folder / "LICENSE").read_text(), folder
