"""The app: routes, problems, documentation and metrics around a service. `gateway` guards it, `server` runs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI, Response

from suffice.service.errors import Overloaded, ServiceError, StoreDown
from suffice.service.http import docs_page, gateway, metrics, problems, static_page
from suffice.service.http.event_streams import Streams
from suffice.service.http.logs import events
from suffice.service.http.openapi import openapi
from suffice.service.http.raw_route import ANY_ROUTE, responses
from suffice.service.http.routes_read import read_routes
from suffice.service.http.routes_write import RAW_ROUTES, selector_routes
from suffice.service.http.schemas_write import Health
from suffice.service.http.serializers import json_response
from suffice.service.http.settings import Settings
from suffice.service.selectors import SelectorService
from suffice.version import VERSION

DESCRIPTION: Final = """Choose just enough: hold a success rate at the least cost when all you ever see is whether it worked.

Make a selector from a plan. Ask it for a decision, carry the decision out, and tell whether it succeeded.
"""
TAGS: Final = [
    {"name": "ask and tell", "description": "The two calls that an application makes all the time."},
    {"name": "selectors", "description": "A selector is made once, from a plan, and holds one target."},
    {"name": "read", "description": "The state of a selector, and the reasons for it."},
    {"name": "server", "description": "The server itself."},
]


def make_app(service: SelectorService, settings: Settings) -> FastAPI:
    """The app around a service, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.closing.clear()
        await service.start()
        try:
            yield
        finally:
            app.state.closing.set()
            await service.stop()

    app = FastAPI(
        title="suffice",
        version=VERSION,
        summary="Ask for a decision, tell whether it succeeded.",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        openapi_tags=TAGS,
        # FastAPI would look these up for each request; earlier versions ignore the argument.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.root_path = settings.root_path
    app.state.service, app.state.settings = service, settings
    app.state.streams = Streams(service.overview, settings.max_streams)
    app.state.closing = app.state.streams.closing
    app.router.routes.extend([*RAW_ROUTES, *selector_routes.routes, *read_routes.routes])
    _add_probes(app, service)
    if settings.metrics:
        _add_metrics(app, service, settings)
    if settings.docs:
        _add_docs(app, settings.root_path)
    if settings.page:
        static_page.install(app)
    problems.install(app)
    app.openapi = lambda: openapi(app, locked=not settings.open)  # type: ignore[method-assign]
    gateway.install(app, service, settings)
    return app


def _add_probes(app: FastAPI, service: SelectorService) -> None:
    async def healthz() -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def readyz() -> Response:
        """Whether the server is warmed up and reaches its store: 503 until then."""
        if not service.ready:
            raise Overloaded("this server is still warming up, or stops")
        try:
            await service.store.ping()
        except ServiceError as error:
            events.warning("the store cannot be reached", extra={"error": str(error)})
            raise StoreDown(gateway.STORE) from None  # this route needs no key, so it does not name the store
        return json_response({"status": "ok"})

    every = responses("It is.", Health)
    alive = {status: response for status, response in every.items() if status not in ANY_ROUTE}
    for path, endpoint, summary, announced in (
        ("/healthz", healthz, "Is it alive?", alive),
        ("/readyz", readyz, "Is it ready?", alive | {503: every[503]}),
    ):
        app.add_api_route(path, endpoint, summary=summary, tags=["server"], responses=announced, response_model=None)
        app.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False, response_model=None)


def _add_metrics(app: FastAPI, service: SelectorService, settings: Settings) -> None:
    collected = metrics.Metrics(service, settings.max_measured)

    async def show() -> Response:
        """Rate, debt, bound, cost, pending decisions and counts of each selector; response times; the process."""
        return Response(await collected.text(), media_type=metrics.MEDIA)

    announced = responses(
        "Metrics in the format of Prometheus.", content={"text/plain": {"schema": {"type": "string"}}}
    )
    app.add_api_route("/metrics", show, summary="Metrics", tags=["server"], responses=announced, response_model=None)
    app.add_middleware(metrics.Timed, metrics=collected)


def _add_docs(app: FastAPI, root_path: str) -> None:
    async def description() -> Response:
        return json_response(app.openapi())

    app.add_api_route("/openapi.json", description, include_in_schema=False, response_model=None)
    docs_page.install(app, root_path)
