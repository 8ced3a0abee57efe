"""The pages on the service, held to the service: what they say of routes, settings and metrics, and every command in them."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from suffice.service.http.app import make_app
from suffice.service.http.configuration import default_text
from suffice.service.http.raw_route import WHY
from suffice.service.http.schemas_request import AskBody
from suffice.service.http.settings import Settings
from suffice.service.plans import Plan
from suffice.service.plans.menus import Recipe
from suffice.service.plans.plan import LearningPlan
from suffice.service.records import STATES
from suffice.service.selectors import SelectorService
from suffice.service.stores import open_store
from suffice.service.stores.copying import copy
from suffice.service.stores.schema import TABLES
from tests.support.paths import DOCS
from tests.support.postgres import Postgres
from tests.support.servers import Server, servers

FOLDER = DOCS / "service"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md"))}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EVERY_CALL = {401, 403, 421, 503}
EVERY_BODY = {400, 408, 413, 415}


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language."""
    return [text for kind, text in BLOCK.findall(PAGES[page]) if kind == language]


def commands(page: str) -> Iterator[tuple[str, str | None]]:
    """The commands of a page, each with what the page shows of its output, if it does so right below."""
    found = list(BLOCK.finditer(PAGES[page]))
    for place, one in enumerate(found):
        if one[1] == "sh":
            after = found[place + 1] if place + 1 < len(found) else None
            adjacent = after is not None and not PAGES[page][one.end() : after.start()].strip()
            yield one[2], after[2] if after is not None and adjacent and after[1] in ("json", "text") else None


def alike(shown: str, said: str) -> bool:
    """Whether an output is as a page shows it: spaces do not matter, and ... stands for anything."""
    pattern = ".*".join(re.escape(part) for part in re.sub(r"\s", "", shown).split("..."))
    return re.fullmatch(pattern, re.sub(r"\s", "", said), re.DOTALL) is not None


def described() -> Any:
    """The OpenAPI of a server that runs open."""
    return make_app(SelectorService(open_store("memory:")), Settings(store="memory:")).openapi()


def sections(page: str) -> dict[str, str]:
    """What stands below each heading that is a route."""
    parts = re.split(r"^#{2,3} (.*)$", PAGES[page], flags=re.MULTILINE)
    return {title.strip("`"): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server, with its file suffice.db in the folder where the commands are run."""
    with servers("sqlite:///suffice.db", tmp_path_factory.mktemp("docs")) as (one,):
        asyncio.run(one.ready())
        there = {"menu": {"kind": "top_k", "ks": [5], "classes": 10}, "target": 0.9}  # what commands can look at
        httpx.put(f"http://127.0.0.1:{one.port}/v1/selectors/there", json=there).raise_for_status()
        yield one


def run(command: str, server: Server) -> str:
    """What a command prints, when 8470 is the server's port."""
    here = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}
    here["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{here['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command.replace("localhost:8470", f"localhost:{server.port}")],
        capture_output=True, text=True, cwd=server.log.parent, env=here, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if "```sh" in PAGES[page]])
def test_commands_do_what_the_page_shows(page: str, server: Server) -> None:
    for command, shown in commands(page):
        said = run(command, server)
        if shown is None:
            assert "about:blank" not in said, f"{command}\n{said}"
        else:
            assert alike(shown, said), f"{command}\nis shown as\n{shown}\nand says\n{said}"


# --- the interface


def test_every_route_is_described_with_its_statuses_and_parameters() -> None:
    found = sections("api")
    routes = {
        f"{method.upper()} {path}": one
        for path, methods in described()["paths"].items()
        for method, one in methods.items()
    }
    assert set(routes) == {title for title in found if title.startswith(("GET ", "PUT ", "POST ", "DELETE "))}
    for route, one in routes.items():
        named = re.findall(r"^Statuses: (.*)\.$", found[route], re.MULTILINE)
        assert len(named) == 1, f"{route} needs one line of statuses"
        statuses = {int(status) for status in named[0].split(", ")}
        common = EVERY_CALL | (EVERY_BODY if "requestBody" in one else set())
        assert statuses | common == {int(status) for status in one["responses"]} | common, route
        assert not {int(status) for status in one["responses"]} - statuses - common, route
        for parameter in one.get("parameters", []):
            assert parameter["name"] == "name" or f"`{parameter['name']}`" in found[route], (route, parameter["name"])


def test_every_status_that_is_named_exists() -> None:
    table = re.findall(r"^\| (\d{3}) \|", sections("api")["Errors"], re.MULTILINE)
    assert {int(status) for status in table} == set(WHY) | {405, 500}
    for page, text in PAGES.items():
        named = {int(status) for status in re.findall(r"(?<![\w.,:])4[0-3]\d(?![\w,:]|\.\d)", text)}
        assert named <= set(WHY) | {405}, page


def test_every_field_of_a_plan_and_of_an_ask_is_described() -> None:
    found = sections("api")
    rows = dict(re.findall(r"^\| `([\w.]+)` \|([^|]*)\|", found["PUT /v1/selectors/{name}"], re.MULTILINE))
    fields = {**Plan.model_fields, **{f"learning.{name}": field for name, field in LearningPlan.model_fields.items()}}
    del fields["learning"]
    for name, field in fields.items():
        default = "" if field.is_required() else json.dumps(field.default)
        assert rows[field.alias or name].strip() == default
    kinds = described()["components"]["schemas"]["Plan"]["properties"]["menu"]["discriminator"]["mapping"]
    assert set(rows) == set(kinds) | set(fields) - {"form"} | {"menu", "kind"}
    for row in re.findall(r"`(\{\"kind\": .*\})` \|$", found["PUT /v1/selectors/{name}"], re.MULTILINE):
        plan = Plan.parse(f'{{"menu": {row}, "target": 0.9}}')
        assert not isinstance(plan.form, Recipe)
        plan.selector()
    asked = re.findall(r"^\| `(\w+)` \|", found["POST /v1/selectors/{name}/ask"], re.MULTILINE)
    assert set(asked) == set(AskBody.model_fields)


# --- running it


def test_the_table_of_settings_is_the_model() -> None:
    lines = ["| setting | default | |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, (), "") else f"`{default_text(field)}`"
        lines.append(f"| `{name}` | {default} | {field.description} |".replace("|  |", "| |"))
    table = "\n".join(lines)
    assert table in PAGES["running"], f"the table of settings in running.md should be\n\n{table}"


def test_settings_in_files_can_be_read() -> None:
    files = [tomllib.loads(text) for page in PAGES for text in blocks(page, "toml")]
    assert files
    for values in files:
        Settings(**values)


def test_metrics_that_are_named_exist(server: Server) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        plan = {"menu": {"kind": "intervals", "step": 0.5}, "target": 0.5}
        client.put("/v1/selectors/measured", json=plan).raise_for_status()
        found = client.post("/v1/selectors/measured/ask").json()
        client.post(
            "/v1/selectors/measured/tell", json={"decision": found["decision"], "success": True}
        ).raise_for_status()
        client.put("/v1/selectors/strict", json={**plan, "max_debt": 0, "in_flight": 0}).raise_for_status()
        client.post("/v1/selectors/strict/ask", json={"count": 200}).raise_for_status()  # which is an event
        text = client.get("/metrics").text
    there = set(re.findall(r"^(suffice_\w+?)(?:_bucket|_sum|_count|_created)?[{ ]", text, re.MULTILINE))
    named = set(re.findall(r"\bsuffice_[a-z_]+\b", PAGES["running"]))
    short = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    assert short <= there, short - there
    assert there <= short, there - short


# --- stores


def test_queries_say_the_same_in_both_stores_and_as_the_service(server: Server, postgres: Postgres) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/v1/selectors") as client:
        plan = {
            "menu": {"kind": "options", "options": {"small": 0.1, "large": 0.4, "a person": 1}, "safe": "a person"},
            "target": 0.9,
        }
        client.put("/audited", json=plan).raise_for_status()
        for number in range(40):
            found = client.post("/audited/ask", json={"group": "Oslo"} if number % 3 == 0 else {}).json()
            outcome = {"decision": found["decision"], "success": found["safe"] or number % 5 > 0}
            if number % 7:
                client.post("/audited/tell", json=outcome).raise_for_status()
        groups = client.get("/audited/certificate").json()["groups"]
        standing = client.get("/audited").json()
    database = postgres.database()
    path = server.log.parent / "suffice.db"
    asyncio.run(copy(f"sqlite:///{path}", database))
    queries = [text.replace("'router'", "'audited'") for text in blocks("stores", "sql")]
    assert len(queries) >= 3
    with closing(sqlite3.connect(path)) as db:
        here = [sorted(_plain(row) for row in db.execute(query)) for query in queries]
    assert here == asyncio.run(_there(database, queries))
    recount = {row[0]: row[1:] for row in here[0]}
    assert set(recount) == set(groups) == {"", "Oslo"}
    for group, (told, successes, debt) in recount.items():
        assert (told, successes) == (groups[group]["outcomes"], groups[group]["successes"])
        assert debt == pytest.approx(groups[group]["debt"])
    assert sum(row[0] for row in recount.values()) == standing["outcomes"]


async def _there(database: str, queries: list[str]) -> list[list[tuple[Any, ...]]]:
    connection = await asyncpg.connect(database, server_settings={"search_path": "suffice"})
    try:
        return [sorted(_plain(tuple(row)) for row in await connection.fetch(query)) for query in queries]
    finally:
        await connection.close()


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers as both databases have them."""
    return tuple(round(float(one), 6) if isinstance(one, float | Decimal | int) else one for one in row)


def test_the_columns_and_states_of_decisions_are_described() -> None:
    rows = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGES["stores"], re.MULTILINE)))
    )
    assert set(TABLES["decisions"]) | set(TABLES) <= rows, (set(TABLES["decisions"]) | set(TABLES)) - rows
    for number, state in enumerate(STATES):
        assert f"{number} {state}" in PAGES["stores"]
