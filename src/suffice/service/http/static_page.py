"""The page at /: the static files of `service/page`, and how static files are served. No request goes to another host."""

import hashlib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import FastAPI, Request, Response

from suffice.service.http.problems import problem

FOLDER: Final = Path(__file__).parent.parent / "page"
MEDIA: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/plain; charset=utf-8",
    "": "text/plain; charset=utf-8",  # LICENSE
}


class File(NamedTuple):
    """A file as it is sent."""

    body: bytes
    media: str
    tag: str


def file_names(folder: Path) -> list[str]:
    """The names of all files of a folder that can be served, relative to it."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in MEDIA)
    return [path.relative_to(folder).as_posix() for path in paths]


def read(folder: Traversable, names: list[str] | tuple[str, ...]) -> dict[str, File]:
    """These files of a folder by name, read once: an upgrade below a running server does not mix two versions of a page."""
    return {name: _read(folder.joinpath(*name.split("/"))) for name in names}


def _read(path: Traversable) -> File:
    body = path.read_bytes()
    return File(body, MEDIA[Path(path.name).suffix], f'"{hashlib.sha256(body).hexdigest()[:16]}"')


def send(files: Mapping[str, File], request: Request, name: str) -> Response:
    """A file, or 304 if the browser has it."""
    file = files.get(name)
    if file is None:
        return problem(404, f"there is no file {name[:100]!r} of the page")
    # Browsers ask each time and compare the tag, so that no page is half old and half new after an upgrade.
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if file.tag in _tags(request):
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.media, headers=headers)


def _tags(request: Request) -> list[str]:
    """The versions that the browser has. A proxy that compresses files marks the tags as weak with W/."""
    return [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]


def install(app: FastAPI) -> None:
    """Add the page's routes to an app."""
    files = read(FOLDER, file_names(FOLDER))

    async def home(request: Request) -> Response:
        return send(files, request, "index.html")

    async def static(request: Request, path: str) -> Response:
        return send(files, request, path)

    async def icon(request: Request) -> Response:
        return send(files, request, "icon.svg")

    for path, endpoint in (("/", home), ("/static/{path:path}", static), ("/favicon.ico", icon)):
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False, response_model=None)
