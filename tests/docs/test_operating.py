"""The page on operating the service, held to it: metrics, statuses, alerts and errors."""

import re

from suffice.promise.certificate import STATUSES
from suffice.selector.events import KINDS
from suffice.service.http.metrics import COUNTERS, GAUGES
from suffice.service.replica import NOTICES
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "service" / "operating.md").read_text("utf-8")
RUNNING = (ROOT / "docs" / "service" / "running.md").read_text("utf-8")
SERVICE = ROOT / "src" / "suffice" / "service"
METRICS = (
    {name for name, *_ in GAUGES}
    | {f"{name}_total" for name, *_ in COUNTERS}
    | {"suffice_events_total", "suffice_request_seconds_bucket"}
)
CALLS = {"delta", "increase", "rate", "sum", "by", "max", "histogram_quantile"}


def queries() -> dict[str, str]:
    """The queries of the dashboard by panel."""
    (block,) = re.findall(r"^```\n(# .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    panels = [one.strip().split("\n", 1) for one in block.split("\n\n")]
    return {panel.removeprefix("# "): " ".join(query.split()) for panel, query in panels}


def test_queries_name_metrics_that_there_are() -> None:
    assert len(queries()) >= 9
    for query in [*queries().values(), PAGE]:
        assert set(re.findall(r"\bsuffice_\w+", query)) <= METRICS, query


def test_queries_are_well_formed() -> None:
    for query in queries().values():
        for left, right in ("()", "[]", "{}"):
            assert query.count(left) == query.count(right), query
        assert set(re.findall(r"([a-z_]+) ?\(", re.sub(r'"[^"]*"', "", query))) <= CALLS, query
        # A counter is only ever asked how fast it grows; a gauge never with increase or rate, which take falls for restarts.
        for call, metric in re.findall(r"(increase|rate|delta)\((suffice_\w+)\[", query):
            assert (call == "delta") == (not metric.endswith(("_total", "_bucket"))), query


def test_every_status_is_in_the_table_by_the_word_on_the_page() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE))
    assert rows.pop("status") == "on the page"
    assert set(rows) == {*STATUSES, "archived"}
    words = (SERVICE / "page" / "parts.js").read_text("utf-8")
    shown = dict(re.findall(r'(\w+): "([^"]+)"', words.split("export const STATUS = {")[1].split("}")[0]))
    assert {status: word.strip() for status, word in rows.items()} == shown


def test_every_kind_of_event_is_in_the_table() -> None:
    table = PAGE.split("### Events")[1].split("\n## ")[0]
    assert re.findall(r"^\| [^|]+ \| `(\w+)` \|$", table, re.MULTILINE) == ["kind", *KINDS]
    assert f"the latest {NOTICES} " in table


def test_every_alert_has_something_to_do() -> None:
    rules = set(re.findall(r"- alert: (\w+)", RUNNING))
    named = set(
        re.findall(r"\b([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b", "".join(re.findall(r"^\*Alerts?:.*$", PAGE, re.MULTILINE)))
    )
    assert rules == named


def test_errors_are_those_that_are_said() -> None:
    source = "".join(path.read_text("utf-8") for path in SERVICE.rglob("*.py"))
    said = re.findall(r"^\| ([a-z][^|`]+) \| [^|]+ \|$", PAGE.split("### It answers 503")[1], re.MULTILINE)
    assert len(said) >= 7
    for one in (one for one in said if one != "it says"):
        assert one in source, one
