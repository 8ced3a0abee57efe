"""The app: routes, problems, documentation and metrics around a keeper. `edge` guards it, `server` runs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.responses import RedirectResponse

from suffice.service.errors import Overloaded, ServiceError, StoreDown
from suffice.service.http import docs_page, gateway, metrics, problems, static_page
from suffice.service.http.event_streams import Streams
from suffice.service.http.logs import events
from suffice.service.http.openapi import openapi
from suffice.service.http.raw_route import LET_IN, outcomes
from suffice.service.http.routes_read import looks
from suffice.service.http.routes_write import BARE, selectors
from suffice.service.http.schemas_write import Health
from suffice.service.http.serializers import json_response
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.version import VERSION

SAID: Final = """Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked.

Make a selector from a plan. Ask it what to do, do that, and tell how it went. Whatever happens, successes stay as promised.
"""
TAGS: Final = [
    {"name": "ask and tell", "description": "What an application does all day."},
    {"name": "selectors", "description": "Made once, from a plan; each holds one target."},
    {"name": "look", "description": "Where a selector stands, and why."},
    {"name": "server", "description": "The server itself."},
]


def make_app(service: SelectorService, settings: Settings) -> FastAPI:
    """The app around a keeper, which it starts and stops unless somebody else does."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.closing.clear()
        mine = not service.ready
        if mine:
            await service.start()
        try:
            yield
        finally:
            app.state.closing.set()
            if mine:
                await service.stop()

    app = FastAPI(
        title="suffice",
        version=VERSION,
        summary="Ask what to do, tell how it went.",
        description=SAID,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=life,
        openapi_tags=TAGS,
        # Looked up for each request otherwise; earlier versions ignore it.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.root_path = settings.root_path
    app.state.service, app.state.settings = service, settings
    app.state.streams = Streams(service.overview, settings.max_streams)
    app.state.closing = app.state.streams.closing
    app.router.routes.extend([*BARE, *selectors.routes, *looks.routes])
    _add_own(app, service, settings)
    problems.install(app)
    app.openapi = lambda: openapi(app, locked=not settings.open)  # type: ignore[method-assign]
    gateway.install(app, service, settings)
    return app


def _add_own(app: FastAPI, service: SelectorService, settings: Settings) -> None:
    """The routes of the server itself."""

    async def healthz() -> Response:
        """Whether the process answers at all."""
        return json_response({"status": "ok"})

    async def readyz() -> Response:
        """Whether it is warmed up and reaches its store: 503 until then."""
        if not service.ready:
            raise Overloaded("this server is still warming up, or stops")
        try:
            await service.store.ping()
        except ServiceError as error:
            events.warning("the store cannot be reached", extra={"error": str(error)})
            raise StoreDown(gateway.STORE) from None  # whoever asks need have no key
        return json_response({"status": "ok"})

    for path, endpoint, said in (("/healthz", healthz, "Is it alive?"), ("/readyz", readyz, "Is it ready?")):
        found = outcomes(said="It is.", model=Health)
        statuses = () if path == "/healthz" else (503,)
        answers = {status: one for status, one in found.items() if status not in LET_IN or status in statuses}
        app.add_api_route(path, endpoint, summary=said, tags=["server"], responses=answers, response_model=None)
        app.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False, response_model=None)
    if settings.metrics:
        _add_metrics(app, service, settings)
    if settings.docs:
        _add_docs(app)
    if settings.page:
        static_page.install(app)
    elif settings.docs:
        _lead_to_docs(app)


def _add_metrics(app: FastAPI, service: SelectorService, settings: Settings) -> None:
    measured = metrics.Metrics(service, settings.max_measured)

    async def show() -> Response:
        """Rate, debt, its bound, cost, pending, asks, tells, expiries and breaches of each selector; latency; the process."""
        return Response(await measured.text(), media_type=metrics.MEDIA)

    said = outcomes(said="Metrics as Prometheus reads them.", content={"text/plain": {"schema": {"type": "string"}}})
    app.add_api_route("/metrics", show, summary="Metrics", tags=["server"], responses=said, response_model=None)
    app.add_middleware(metrics.Timed, metrics=measured)


def _add_docs(app: FastAPI) -> None:
    async def description() -> Response:
        return json_response(app.openapi())

    made: list[str] = []

    async def described(request: Request) -> Response:
        if not made:
            made.append(docs_page.page(app.openapi()))
        here = escape(str(request.base_url).rstrip("/"))
        return Response(made[0].replace(docs_page.HERE, here), media_type="text/html; charset=utf-8")

    async def style() -> Response:
        return Response(
            docs_page.STYLE, media_type="text/css; charset=utf-8", headers={"cache-control": "max-age=3600"}
        )

    for path, endpoint in (("/openapi.json", description), ("/docs", described), ("/docs/style.css", style)):
        app.add_api_route(path, endpoint, include_in_schema=False, response_model=None)


def _lead_to_docs(app: FastAPI) -> None:
    async def home(request: Request) -> Response:
        return RedirectResponse(f"{request.scope.get('root_path', '')}/docs")

    app.add_api_route("/", home, include_in_schema=False, response_model=None)
