"""The page /docs, made from what the routes say of themselves: no script, and nothing from elsewhere."""

import json
import re
from html import escape
from importlib import resources
from typing import Any, Final

from suffice.service.http.docs_html import (
    anchor,
    code,
    default,
    frame,
    inline,
    path_of,
    pretty,
    prose,
    rule,
    slug,
    small,
    table,
    title,
)
from suffice.service.plans.fields import CALLED

STYLE: Final = resources.files("suffice.service.http").joinpath("docs.css").read_text("utf-8")
HERE: Final = "\0here"  # where the address of the server will stand: NUL is in no text of ours

USUAL: Final = (
    "400",
    "401",
    "403",
    "408",
    "413",
    "415",
    "421",
    "503",
)  # problems that have little to do with the route

Schema = dict[str, Any]


class Page:
    """One page from one description."""

    def __init__(self, openapi: Schema) -> None:
        self.openapi = openapi
        self.schemas: dict[str, Schema] = openapi["components"]["schemas"]
        self.locked = "securitySchemes" in openapi["components"]
        bodies = [
            one["requestBody"]
            for methods in openapi["paths"].values()
            for one in methods.values()
            if "requestBody" in one
        ]
        self.sent = self._named(bodies)  # models that a client sends

    def _named(self, thing: Any) -> dict[str, None]:
        """The models that a piece of the description names, and those that they name, in order."""
        found: dict[str, None] = {}
        waiting = [thing]
        while waiting:
            for name in re.findall("#/components/schemas/([A-Za-z]+)", json.dumps(waiting.pop(0))):
                if name not in found:
                    found[name] = None
                    waiting.append(self.schemas[name])
        return found

    def text(self) -> str:
        """The page, with HERE in the place of the address."""
        info = self.openapi["info"]
        parts = [self._group(tag) for tag in self.openapi["tags"]]
        models = "".join(
            self._model(name, self.schemas[name]) for name in (self.sent | self._named(self.openapi["paths"]))
        )
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(info['title'])} {escape(info['version'])}</title>"
            '<link rel="stylesheet" href="docs/style.css"></head><body>'
            f'<nav aria-label="Contents"><p class="name"><a href="#top">{escape(info["title"])}</a> '
            f"<small>{escape(info['version'])}</small></p>{self._contents()}</nav>"
            f'<main id="top"><header><h1>{escape(info["title"])}</h1>{prose(info["description"])}{self._start()}</header>'
            f'{"".join(parts)}{self._problems()}<section class="tag" id="models"><h2>Models</h2>'
            f"<p>What bodies and replies are made of.</p>{models}</section></main></body></html>"
        )

    # --- contents

    def _contents(self) -> str:
        lists = []
        for tag in self.openapi["tags"]:
            items = "".join(
                f'<li><a href="#{anchor(method, path)}">{escape(one["summary"])}</a></li>'
                for method, path, one in self._of(tag["name"])
            )
            lists.append(f'<p><a href="#{slug(tag["name"])}">{escape(title(tag["name"]))}</a></p><ul>{items}</ul>')
        more = (("#problems", "What can go wrong"), ("#models", "Models"), ("openapi.json", "OpenAPI as JSON"))
        return "".join(lists) + "".join(f'<p><a href="{where}">{said}</a></p>' for where, said in more)

    def _of(self, tag: str) -> list[tuple[str, str, Schema]]:
        return [
            (method, path, one)
            for path, methods in self.openapi["paths"].items()
            for method, one in methods.items()
            if tag in one["tags"]
        ]

    def _start(self) -> str:
        """The whole of it in three calls."""
        menu = {"kind": "options", "options": {"small": 0.1, "large": 0.4}, "safe": "a person"}
        calls = (
            self._curl("put", "/v1/selectors/router", {"target": 0.9, "menu": menu}),
            self._curl("post", "/v1/selectors/router/ask"),
            self._curl("post", "/v1/selectors/router/tell", {"decision": 0, "success": True}),
        )
        key = (
            "<p>Every call needs a key, made on the server with <code>suffice keys create NAME --scope use</code>; here it is "
            "in <code>$SUFFICE_KEY</code>.</p>"
            if self.locked
            else ""
        )
        lines = code("\n\n".join(calls))
        return (
            f"{key}{lines}<p>Bodies and replies are JSON. What goes wrong is answered as "
            f"<code>application/problem+json</code> with one sentence in <code>detail</code>: {self._link('Problem')}.</p>"
        )

    # --- routes

    def _group(self, tag: Schema) -> str:
        routes = "".join(self._route(*one) for one in self._of(tag["name"]))
        name = tag["name"]
        return (
            f'<section class="tag" id="{slug(name)}"><h2>{escape(title(name))}</h2>{prose(tag["description"])}{routes}'
            "</section>"
        )

    def _route(self, method: str, path: str, one: Schema) -> str:
        body = one.get("requestBody")
        example = self._example(body["content"]["application/json"]["schema"]) if body else None
        shown = path.replace("{name}", "router")
        where = anchor(method, path)
        return (
            f'<article id="{where}"><h3><a href="#{where}">{escape(one["summary"])}</a></h3>'
            f'<p class="call"><b class="{method}">{method.upper()}</b> <code>{path_of(path)}</code></p>'
            f"{prose(one.get('description', ''))}{self._parameters(one.get('parameters', []))}{self._body(body)}"
            f"{self._replies(one['responses'])}<h4>Try it</h4>{code(self._curl(method, shown, example or None))}</article>"
        )

    def _parameters(self, parameters: list[Schema]) -> str:
        rows = [
            (
                f"<code>{escape(one['name'])}</code>",
                f"{escape(one['in'])}{', required' if one.get('required') and one['in'] != 'path' else ''}",
                self._kind(one["schema"]),
                inline(one.get("description", "")),
            )
            for one in parameters
        ]
        return table("Parameters", rows) if rows else ""

    def _body(self, body: Schema | None) -> str:
        if body is None:
            return ""
        schema = body["content"]["application/json"]["schema"]
        may = "" if body["required"] else ", or nothing"
        examples = frame(self._examples(schema))
        return f"<h4>Body</h4><p>{self._kind(schema)}{may}</p>{examples}"

    def _replies(self, responses: dict[str, Schema]) -> str:
        rows, examples, usual = [], "", []
        for status, one in sorted(responses.items()):
            if status in USUAL:
                usual.append(status)
                continue
            kind, some = next(iter(one.get("content", {"": {}}).items()))
            said = self._kind(some["schema"]) if "json" in kind else f"<code>{escape(kind)}</code>"
            rows.append((f'<b class="s{status[0]}">{status}</b>', inline(one["description"]), said))
            if kind == "application/json" and status == "200":
                examples = frame(self._examples(some["schema"]))
        more = f'<p class="usual">And <a href="#problems">as elsewhere</a>: {", ".join(usual)}.</p>' if usual else ""
        return table("Replies", rows) + more + examples

    def _problems(self) -> str:
        """What can go wrong anywhere, said once."""
        said = {
            status: one["description"]
            for methods in self.openapi["paths"].values()
            for route in methods.values()
            for status, one in route["responses"].items()
        }
        rows = [(f'<b class="s4">{status}</b>', inline(said[status])) for status in USUAL if status in said]
        return (
            f'<section class="tag" id="problems"><h2>What can go wrong</h2><p>With any route, beside what it says itself. '
            f"Each is a {self._link('Problem')}. A 503 says when to try again; asks with an idempotency key, and tells, can "
            f"always be sent again.</p>{table('', rows)}</section>"
        )

    def _curl(self, method: str, path: str, body: Any = None) -> str:
        parts = [f"curl {'' if method == 'get' else f'-X {method.upper()} '}{HERE}{path}"]
        if self.locked and path.startswith(("/v1/", "/metrics")):
            parts.append('-H "Authorization: Bearer $SUFFICE_KEY"')
        if body is not None:
            quoted = pretty(body, before=8).replace("'", "'\\''")
            parts += ['-H "Content-Type: application/json"', f"-d '{quoted}'"]
        return " \\\n  ".join(parts)

    # --- models

    def _model(self, name: str, schema: Schema) -> str:
        needed, sent = schema.get("required", ()), name in self.sent
        said = small("required" if sent else "may be missing")
        rows = [
            (
                f"<code>{escape(field)}</code>{said if (field in needed) == sent else ''}",
                self._kind(one),
                inline(one.get("description", "")) + default(one),
            )
            for field, one in schema.get("properties", {}).items()
        ]
        examples = frame(schema.get("examples", ())) if sent else ""  # those of replies stand with the routes
        return (
            f'<article class="model" id="{name}"><h3><a href="#{name}">{name}</a></h3>{prose(schema.get("description", ""))}'
            f"{table('', rows)}{examples}</article>"
        )

    def _link(self, name: str) -> str:
        return f'<a href="#{name}">{name}</a>'

    def _kind(self, schema: Schema) -> str:
        """What a value may be, in a few words."""
        if CALLED in schema:
            return str(schema[CALLED])
        if "$ref" in schema:
            return self._link(schema["$ref"].rpartition("/")[2])
        several = schema.get("anyOf") or schema.get("oneOf")
        if several:
            return " or ".join(dict.fromkeys(self._kind(one) for one in several))
        if "const" in schema or "enum" in schema:
            values = schema.get("enum") or [schema["const"]]
            return " or ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
        kind: str = schema.get("type", "anything")
        if kind == "array":
            return f"list of {self._kind(schema.get('items', {}))}"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
            return f"object of {self._kind(schema['additionalProperties'])}"
        words = {"integer": "whole number", "string": "text", "boolean": "true or false"}
        return words.get(kind, kind) + rule(schema)

    def _examples(self, schema: Schema) -> list[Any]:
        """Examples of what a schema describes: those of the models that it names."""
        if "$ref" in schema:
            return list(self.schemas[schema["$ref"].rpartition("/")[2]].get("examples", ()))
        found = [one for part in schema.get("anyOf", ()) for one in self._examples(part)]
        if schema.get("type") == "array":
            found = [self._examples(schema["items"])[:2]]
        return found

    def _example(self, schema: Schema) -> Any:
        return next(iter(self._examples(schema)), None)


def page(openapi: Schema) -> str:
    """The page, with HERE in the place of the address of the server."""
    return Page(openapi).text()
