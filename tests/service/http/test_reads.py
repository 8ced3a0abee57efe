"""The state of one selector over HTTP: certificate, options, context report, history, decisions, CSV."""

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest

from suffice.promise.certificate import Certificate
from suffice.service.http import export, serializers
from suffice.service.http.decision_ids import to_id
from suffice.service.records import Bin
from tests.support.calling import PLAN, Api, play, serve
from tests.support.command import say_in_process


def test_the_certificate() -> None:
    async def do(api: Api) -> None:
        await api.put()
        found = await api.get("/certificate")
        written = {name for name in Certificate.__dataclass_fields__ if name not in ("promise", "account")}
        assert set(found) == written | {"missing", "text", "status", "holds", "feasible", "assumption_violated"}
        assert found["text"].splitlines()[0] == "No outcome has been reported yet (target 90%)."
        assert found["status"] == "kept"
        await play(api, 3)
        await play(api, 2, group="Oslo")
        found = await api.get("/certificate")
        assert set(found["groups"]) == {"", "Oslo"}
        assert found["outcomes"] == 5
        assert found["groups"]["Oslo"]["outcomes"] == 2
        alone = await api.get("/certificate?group=Oslo")
        assert alone == found["groups"]["Oslo"]
        assert found["missing"] == alone["missing"] == 0
        await api.ask(body={"count": 4, "group": "Oslo"})
        found = await api.get("/certificate")
        missing = {name: part["missing"] for name, part in found["groups"].items()}
        most = (await api.service.certificate("router", "Oslo")).account.most_outstanding
        assert missing == {"": 0, "Oslo": most - 1}
        assert found["missing"] == most - 1 > 0
        await api.get("/certificate?group=Bergen", status=422)
        await api.get("/certificate?group=", status=422)
        await api.get("/certificate?group=%00", status=422)

    serve(do)


async def many_groups(api: Api, count: int = 60) -> None:
    """The safe option succeeds, but in two groups: of 12 outcomes each, four more in the last."""
    await api.put(body={**PLAN, "menu": {**PLAN["menu"], "skip": None}})
    for number in range(count):
        body = {"count": 12, "group": f"g{number:02d}", "available": ["a person"]}
        asked = (await api.ask(body=body))["decisions"]
        await api.tell([{"decision": one["decision"], "success": number not in (7, 9)} for one in asked])
    await play(api, 4, group=f"g{count - 1}")
    await api.ask(body={"group": "new"})


def test_a_certificate_shows_the_worst_groups() -> None:
    async def do(api: Api) -> None:
        await many_groups(api)
        whole = await api.get("/certificate")
        assert whole["status"] == whole["groups"]["g07"]["status"] == "infeasible"
        assert whole["group_statuses"] == {"infeasible": 2, "within": 1, "kept": 58}
        assert list(whole["group_statuses"]) == ["infeasible", "within", "kept"]
        names = list(whole["groups"])
        assert len(names) == 61
        assert (names[:5], names[-1]) == (["g07", "g09", "new", "g59", "g00"], "g58")
        for shown in (0, 1, 3, 61, 1000):
            assert await api.get(f"/certificate?groups={shown}") == {
                **whole, "groups": {name: whole["groups"][name] for name in names[:shown]}
            }  # fmt: skip
        assert "groups" not in await api.get("/certificate?group=g07&groups=3")
        for wrong in ("-1", "x", "1.5", ""):
            await api.get(f"/certificate?groups={wrong}", status=422)

    serve(do)


def test_options_and_context_report() -> None:
    async def do(api: Api) -> None:
        await api.put()
        await play(api, 5)
        arms = (await api.get("/options"))["options"]
        assert [arm["option"] for arm in arms] == ["skip", "small", "large", "a person"]
        assert sum(arm["plays"] for arm in arms) == 5
        few = await api.get("/options?order=plays&limit=2")
        assert few["options"] == sorted(arms, key=lambda arm: -arm["plays"])[:2]
        assert few["total"] == 4
        assert (await api.get("/options?limit=1"))["options"] == arms[:1]
        for wrong in ("limit=0", "order=best"):
            await api.get(f"/options?{wrong}", status=422)
        assert "model" in (await api.get("/context-report", status=422))["detail"]
        await api.put("looking", {**PLAN, "model": "auto"})
        await play(api, 5, "looking", context={"length": 3})
        found = await api.get("/context-report", "looking")
        assert found["trusted"] is False
        assert found["text"].startswith("The model (")
        await api.put("pairs", {"menu": {"kind": "intervals", "step": 0.5}, "target": 0.5})
        arms = (await api.get("/options", "pairs"))["options"]
        assert [arm["option"] for arm in arms] == [[0.0, 0.5], [0.5, 1.0], [0.0, 1.0]]

    serve(do)


def test_the_history() -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert await api.get("/history") == {"bins": [], "options": {}, "width": None, "finest": 0.25}
        await play(api, 20)
        bins = (await api.get("/history?bins=1"))["bins"]
        (one,) = bins
        found = await api.get()
        assert (one["outcomes"], one["successes"]) == (20, found["successes"])
        assert one["debt"] == pytest.approx(found["debt"])
        assert one["cost"] == pytest.approx(found["cost"])
        assert one["rate"] == pytest.approx(found["rate"])
        assert sum(one["arms"].values()) == 20
        assert sum(one["shares"].values()) == pytest.approx(1.0)
        assert (one["total"], one["total_rate"]) == (20, pytest.approx(found["rate"]))
        assert one["total_cost"] == pytest.approx(found["mean_cost"])
        assert (one["debt_at_most"], one["ahead_at_most"]) == (found["debt_at_most"], found["ahead_at_most"])
        assert (await api.get(f"/history?since={one['end']}"))["bins"] == []
        assert (await api.get(f"/history?bins=1&since={one['end'] - 1e-3}"))["bins"][-1]["total"] == 20
        for wrong in ("0", "-1", "1001", "x", "1.5"):
            await api.get(f"/history?bins={wrong}", status=422)

    serve(do)


@pytest.mark.parametrize(
    ("outcomes", "successes", "cost", "rate", "mean_cost"),
    [(4, 3.0, 2.0, 0.75, 0.5), (1, 6.0, -1.0, None, None), (0, 2.0, 1.0, None, None), (2, 2.0, 0.0, 1.0, 0.0)],
)
def test_late_outcomes_give_no_impossible_rates(
    outcomes: int, successes: float, cost: float, rate: float | None, mean_cost: float | None
) -> None:
    found = serializers.stretch(
        Bin(0.0, 1.0, outcomes, successes, cost, 0.0, None, {}, outcomes, successes, cost, 0.9, 1.0)
    )
    assert (found["rate"], found["mean_cost"]) == (rate, mean_cost)


def test_decisions_newest_first_and_in_order() -> None:
    async def do(api: Api) -> None:
        await api.put()
        await play(api, 4, group="Oslo")
        await api.ask()

        async def ids(query: str) -> tuple[list[str], str | None]:
            page = await api.get(f"/decisions{query}")
            return [one["decision"] for one in page["decisions"]], page["next"]

        first, second, third, fourth, fifth = every = [to_id(number) for number in range(5)]
        assert await ids("") == (every[::-1], None)
        assert await ids("?limit=2") == ([fifth, fourth], None)
        assert await ids("?after=&limit=2") == ([first, second], second)
        assert await ids(f"?after={second}&limit=3") == ([third, fourth, fifth], None)
        assert await ids(f"?after={fifth}") == ([], None)
        newest, told = (await api.get("/decisions?limit=2"))["decisions"]
        assert (newest["state"], newest["success"], newest["told_at"], newest["group"]) == (
            "pending",
            None,
            None,
            None,
        )
        assert (told["state"], told["group"], told["late"], told["option"]) == ("told", "Oslo", False, told["option"])
        for wrong in ("limit=0", "limit=1001", "after=-1", "after=d-01"):
            await api.get(f"/decisions?{wrong}", status=422)

    serve(do)


async def table(api: Api, query: str = "", name: str = "router") -> list[dict[str, str]]:
    answer = await api.http.get(f"/v1/selectors/{name}/decisions.csv{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/csv")
    assert f'filename="{name}-decisions.csv"' in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_decisions_as_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 7)
    now = [1_800_000_000.0]

    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "expire_after": 60})
        assert await table(api) == []
        await play(api, 15)
        await api.ask(body={"count": 2, "group": "-Oslo"})
        now[0] += 61.0
        await api.service.expire_overdue()
        await api.tell({"decision": to_id(15), "success": 0.5})
        await api.ask(body={"group": '=cmd|" /C calc"!A0'})
        rows = await table(api)
        assert list(rows[0]) == list(export.COLUMNS)
        assert [row["decision"] for row in rows] == [to_id(number) for number in range(18)]
        assert [row["state"] for row in rows[14:]] == ["told", "amended", "expired", "pending"]
        assert [row["success"] for row in rows[15:]] == ["0.5", "", ""]
        assert [row["late"] for row in rows[14:]] == ["false", "true", "false", "false"]
        assert [row["group"] for row in rows[15:]] == ["'-Oslo", "'-Oslo", '\'=cmd|" /C calc"!A0']
        known = {"skip": 0.0, "small": 0.1, "large": 0.4, "a person": 1.0}
        assert [float(row["cost"]) for row in rows] == [known[row["option"]] for row in rows]
        asked, told = (datetime.fromisoformat(rows[0][name]) for name in ("asked_at", "told_at"))
        assert asked <= told
        assert asked.utcoffset() is not None
        assert len(await table(api, "?state=told")) == 15
        assert [row["decision"] for row in await table(api, "?state=expired")] == [to_id(16)]
        assert await table(api, "?state=pending") == rows[17:]
        await api.get("/decisions.csv?state=lost", status=422)
        await api.get("/decisions.csv", "nobody", status=404)

    serve(do, "memory:", lambda: now[0])


def test_a_cancelled_decision_is_listed_without_success_and_cost() -> None:
    async def do(api: Api) -> None:
        await api.put()
        first, second = (await api.ask(body={"count": 2}))["decisions"]
        await api.call("POST", "/v1/selectors/router/cancel", {"decision": first["decision"]})
        await api.tell({"decision": second["decision"], "success": False})
        told, cancelled = (await api.get("/decisions"))["decisions"]
        assert (told["state"], told["success"], told["cost"]) == ("told", 0.0, 0.1)
        assert (cancelled["state"], cancelled["success"], cancelled["cost"]) == ("cancelled", None, None)
        (row,) = await table(api, "?state=cancelled")
        assert (row["decision"], row["success"], row["cost"]) == (first["decision"], "", "")
        overview = await api.get()
        assert (overview["cost"], overview["mean_cost"]) == (0.1, 0.1)

    serve(do)


def test_options_as_csv() -> None:
    options = ["=1+1", "plain", "", " ", -5, 2.5, True, None, [1, "a"], {"k": 1}, "with, comma\nand line", "@x"]
    listed = [{"option": option} for option in options]

    async def do(api: Api) -> None:
        await api.put(body={"menu": {"kind": "options", "options": listed, "safe": "e", "safe_cost": 1}, "target": 0.5})
        menu = (await api.service.plan("router")).menu()
        written = [export.option_cell(menu.option(arm)) for arm in range(menu.n_arms)]
        assert written == [
            "'=1+1", "plain", '""', '" "', "-5", "2.5", "true", "null", '[1,"a"]', '{"k":1}', "with, comma\nand line", "'@x",
            "e",
        ]  # fmt: skip

    serve(do)


def test_the_csv_can_be_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "decisions.csv"

    async def do(api: Api) -> None:
        await api.put()
        await play(api, 60)
        await api.ask(body={"count": 3})
        log.write_bytes((await api.http.get("/v1/selectors/router/decisions.csv")).content)

    serve(do)
    code, said, _ = say_in_process(capsys, "replay", str(log), "--target", "0.9")
    assert code == 0
    assert "3 of 63 rows hold no outcome and are left out." in said


async def status_of(api: Api) -> str:
    """The status, which is the same in the list, the overview and the certificate."""
    found, certificate = await api.get(), await api.get("/certificate")
    (listed,) = (await api.call("GET", "/v1/selectors"))["selectors"]
    assert certificate["text"].startswith(found["verdict"])
    for name in ("status", "holds", "owed_at_most", "debt_at_most", "assumption_violated"):
        assert listed[name] == found[name] == certificate[name]
    assert found["holds"] == (found["status"] in ("kept", "within"))
    status: str = found["status"]
    return status


def test_the_status_is_the_same_everywhere() -> None:
    async def do(api: Api) -> None:
        await api.put(body={**PLAN, "max_debt": 1, "in_flight": 0})
        assert await status_of(api) == "kept"
        small = await api.ask(body={"available": ["small"]})
        assert await status_of(api) == "within"  # 0.9 would be owed if it failed
        person = await api.ask()
        assert person["safe"]
        assert await status_of(api) == "unproven"  # 1.8 if both failed, of at most 1
        for asked in (person, small):
            await api.tell({"decision": asked["decision"], "success": False})
        assert await status_of(api) == "broken"
        assert (await api.get())["assumption_violated"]
        statuses = ["broken"]
        while statuses[-1] == "broken":
            asked = await api.ask()
            assert asked["safe"]
            await api.tell({"decision": asked["decision"], "success": False})
            statuses.append(await status_of(api))
        assert statuses == ["broken"] * (len(statuses) - 1) + ["infeasible"]
        assert (await api.get("/certificate"))["safe_plays"] == len(statuses) == 6
        assert (await api.get())["cap"] == pytest.approx(10.0)
        archived = await api.call("DELETE", "/v1/selectors/router")
        assert archived["status"] == "archived"

    serve(do)


def test_the_limits_and_skips_over_http(store_url: str) -> None:
    async def do(api: Api) -> None:
        menu = {**PLAN["menu"], "skip": None}
        await api.put("strict", {"menu": menu, "target": 0.9, "max_debt": 0, "in_flight": 0})
        refused = await api.ask("strict", {"available": ["small"]}, status=424)
        assert "the safe option is needed now, and it is not available" in refused["detail"]
        assert (await api.get(name="strict"))["asks"] == 0
        insisted = await api.ask("strict", {"available": ["small", "large"], "insist": True})
        assert (insisted["option"], insisted["safe"], insisted["skip"]) == ("small", False, False)
        found = await api.get("/certificate", "strict")
        assert (found["insisted"], found["uncovered"], found["debt_at_most"]) == (1, 0.9, 0.9)

        await api.put("skipping", {**PLAN, "target": 0.5, "max_surplus": 1})
        while not (asked := await api.ask("skipping"))["skip"]:
            await api.tell({"decision": asked["decision"], "success": True}, "skipping")
        before = await api.get(name="skipping")
        assert (before["pending"], before["asked"]) == (0, before["outcomes"])
        (row,) = (await api.get("/decisions?limit=1", "skipping"))["decisions"]
        assert (row["state"], row["success"], row["cost"], row["late"]) == ("skipped", 0.0, 0.0, False)
        assert row["told_at"] == row["asked_at"]
        assert [one["state"] for one in await table(api, "?state=skipped", "skipping")] == ["skipped"]
        told = {"decision": asked["decision"], "success": False}
        assert (await api.tell(told, "skipping"))["result"] == "unchanged"
        assert await api.get(name="skipping") == before
        assert (await api.tell({**told, "success": True}, "skipping"))["result"] == "amended"
        found = await api.get("/certificate", "skipping")
        assert (found["skipped"], found["skip_successes"], found["assumption_violated"]) == (1, 1, True)
        assert (found["outcomes"], found["successes"]) == (before["outcomes"], before["successes"] + 1)

    serve(do, store_url)


def test_too_many_outstanding_decisions_are_refused() -> None:
    async def do(api: Api) -> None:
        await api.put()
        asked = await api.ask(body={"count": 3})
        said = await api.ask(status=429)
        assert said["detail"] == (
            "selector 'router' has 3 decisions outstanding, of at most 3 on this server: tell their outcomes, or set "
            "expire_after in its plan, so that they expire"
        )
        await api.tell({"decision": asked["decisions"][0]["decision"], "success": True})
        await api.ask()

    serve(do, max_outstanding=3)
