"""The page /docs: FastAPI's Swagger UI, with its files from the package fastapi-swagger. No request goes to another host."""

import base64
import hashlib
import re
from importlib import resources
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html

from suffice.service.http.gateway import CSP
from suffice.service.http.static_page import read, send

SCRIPT: Final = "swagger-ui-bundle.js"
STYLE: Final = "swagger-ui.css"
PARAMETERS: Final = {
    "deepLinking": True,
    "displayRequestDuration": True,
    "validatorUrl": None,  # the default is a validator on another host
}


def install(app: FastAPI, root_path: str) -> None:
    """Add the routes of the page to an app that a proxy shows under `root_path`."""
    files = read(resources.files("fastapi_swagger") / "resources", (SCRIPT, STYLE))
    page = get_swagger_ui_html(
        title=f"{app.title} {app.version}",
        openapi_url=f"{root_path}/openapi.json",
        swagger_js_url=f"{root_path}/docs/{SCRIPT}",
        swagger_css_url=f"{root_path}/docs/{STYLE}",
        swagger_favicon_url="data:,",
        swagger_ui_parameters=PARAMETERS,
    )
    page.headers["content-security-policy"] = policy_for(bytes(page.body).decode())

    async def show() -> Response:
        return page

    async def file(request: Request, name: str) -> Response:
        return send(files, request, name)

    for path, endpoint in (("/docs", show), ("/docs/{name}", file)):
        app.add_api_route(path, endpoint, include_in_schema=False, response_model=None)


def policy_for(html: str) -> str:
    """The content security policy of a page: that of all pages, and the hash of the page's one inline script."""
    script = re.findall("<script>(.*?)</script>", html, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return CSP.replace("script-src 'self'", f"script-src 'self' 'sha256-{digest}'")
