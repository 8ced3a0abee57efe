"""The page: static files from `service/page`, served as they lie there. No request goes anywhere else."""

import hashlib
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
    ".png": "image/png",
    ".md": "text/plain; charset=utf-8",
    "": "text/plain; charset=utf-8",  # LICENSE
}


class File(NamedTuple):
    """A file as it is sent."""

    body: bytes
    media: str
    tag: str


def read(folder: Path = FOLDER) -> dict[str, File]:
    """All files of a folder by name, read once: a name leads nowhere else, and who upgrades below a running server
    does not mix two versions of the page."""
    return {
        path.relative_to(folder).as_posix(): _read(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in MEDIA
    }


def _read(path: Path) -> File:
    body = path.read_bytes()
    return File(body, MEDIA[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:16]}"')


def _tags(request: Request) -> list[str]:
    """The versions that the browser has; a proxy that compresses files calls them weak."""
    return [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]


def install(app: FastAPI) -> None:
    """Add the page's routes to an app."""
    files = read()

    def send(request: Request, name: str) -> Response:
        file = files.get(name)
        if file is None:
            return problem(404, f"there is no file {name[:100]!r} of the page")
        # Asked for each time, and answered by its tag: after an upgrade nobody sees half of the old page.
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if file.tag in _tags(request):
            return Response(status_code=304, headers=headers)
        return Response(file.body, media_type=file.media, headers=headers)

    async def home(request: Request) -> Response:
        return send(request, "index.html")

    async def static(request: Request, path: str) -> Response:
        return send(request, path)

    async def icon(request: Request) -> Response:
        return send(request, "icon.svg")

    for path, endpoint in (("/", home), ("/static/{path:path}", static), ("/favicon.ico", icon)):
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False, response_model=None)
