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
        assert set(found) == written | {"missing", "text", "status"}
        assert found["text"] == "Nothing told yet (target 90%).\n" + found["text"].partition("\n")[2]
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
    """The safe option succeeds, but in two groups: of 3 outcomes each, one more in the last."""
    await api.put()
    for number in range(count):
        asked = (await api.ask(body={"count": 3, "group": f"g{number:02d}"}))["decisions"]
        await api.tell([{"decision": one["decision"], "success": number not in (7, 9)} for one in asked])
    await play(api, 4, group=f"g{count - 1}")
    await api.ask(body={"group": "new"})


def test_a_certificate_shows_the_worst_groups() -> None:
    async def do(api: Api) -> None:
        await many_groups(api)
        whole = await api.get("/certificate")
        assert whole["status"] == whole["groups"]["g07"]["status"] == "infeasible"
        assert whole["group_statuses"] == {"infeasible": 2, "kept": 58, "waiting": 1}
        assert list(whole["group_statuses"]) == ["infeasible", "kept", "waiting"]
        names = list(whole["groups"])
        assert len(names) == 61
        assert (names[:5], names[-1]) == (["g07", "g09", "g59", "g00", "g01"], "new")
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
        assert [arm["option"] for arm in arms] == [None, [0.0, 0.5], [0.5, 1.0], [0.0, 1.0]]

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
        assert {row["option"]: float(row["cost"]) for row in rows}["a person"] == 1.0
        asked, told = (datetime.fromisoformat(rows[0][name]) for name in ("asked_at", "told_at"))
        assert asked <= told
        assert asked.utcoffset() is not None
        assert len(await table(api, "?state=told")) == 15
        assert [row["decision"] for row in await table(api, "?state=expired")] == [to_id(16)]
        assert await table(api, "?state=pending") == rows[17:]
        await api.get("/decisions.csv?state=lost", status=422)
        await api.get("/decisions.csv", "nobody", status=404)

    serve(do, "memory:", lambda: now[0])


def test_options_as_csv() -> None:
    options = ["=1+1", "plain", "", " ", -5, 2.5, True, None, [1, "a"], {"k": 1}, "with, comma\nand line", "@x"]

    async def do(api: Api) -> None:
        await api.put(body={"menu": {"kind": "options", "options": options, "safe": "e"}, "target": 0.5})
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


def test_the_status_is_the_same_everywhere() -> None:
    async def do(api: Api) -> None:
        await api.put()
        assert (await api.get())["status"] == "waiting"
        for success, status in ((True, "kept"), (False, "breach"), (False, "breach")):
            asked = await api.ask()
            while not asked["safe"] and not success:
                await api.tell({"decision": asked["decision"], "success": False})
                asked = await api.ask()
            await api.tell({"decision": asked["decision"], "success": success})
            found = await api.get()
            assert found["verdict"] in (await api.get("/certificate"))["text"]
            (listed,) = (await api.call("GET", "/v1/selectors"))["selectors"]
            assert listed["status"] == found["status"] == (await api.get("/certificate"))["status"]
            assert found["status"] == status
        assert found["cap"] == pytest.approx(10.0)
        archived = await api.call("DELETE", "/v1/selectors/router")
        assert archived["status"] == "archived"

    serve(do)
