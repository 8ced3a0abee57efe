// The five main numbers: rate, debt, cost, pending, outcomes.

import { h, mark, say } from "../dom.js";
import { bullet, setBullet } from "../parts.js";
import { count, money, number, owed, percent, plural, short, span } from "../words.js";

const TILES = [
  ["rate", "Success rate"], ["debt", "Debt"], ["cost", "Cost per decision"], ["pending", "Pending"],
  ["outcomes", "Outcomes"],
];

export function tiles() {
  const made = Object.fromEntries(TILES.map(([name, title]) => [name, tile(name, title)]));
  made.rate.append(bullet());
  return { whole: h("div", { class: "tiles" }, Object.values(made)), ...made };
}

function tile(name, title) {
  return h("div", { class: "tile", "data-test": `tile-${name}`, role: "group", "aria-label": title },
    h("div", { class: "tile-title" }, title), h("div", { class: "tile-value" }), h("div", { class: "tile-more" }));
}

export function setTiles(tiles, known) {
  const { plan } = known;
  set(tiles.rate, percent(known.rate), `target ${percent(known.target)}`);
  setBullet(tiles.rate.lastElementChild, known.rate, known.target);
  mark(tiles.rate.lastElementChild, "data-status", known.status);
  const never = known.debt_at_most === null ? "" : `never behind by more than ${number(known.debt_at_most)}`;
  const behind = !known.holds && known.debt > known.debt_at_most;
  // A group may be behind although all groups together are not.
  const said = known.holds ? never : behind ? `promised: ${never}` : "a group is behind by more than promised";
  set(tiles.debt, owed(known.debt), said, behind);
  set(tiles.cost, money(known.mean_cost), saved(known.mean_cost, known.safe_cost));
  const limit = plan.max_pending === null ? "no limit" : `of ${count(plan.max_pending)} at most`;
  const expiry = plan.expire_after === null ? "none expire" : `expire after ${span(plan.expire_after)}`;
  set(tiles.pending, short(known.pending), known.expired ? `${short(known.expired)} expired` : `${limit}; ${expiry}`);
  set(tiles.outcomes, short(known.outcomes), `${plural(known.asks, "decision")} asked`);
}

function saved(paid, safe) {
  if (paid === null) return `the safe option costs ${money(safe)}`;
  const part = 1 - paid / safe;
  if (part > 0.005) return `${percent(Math.round(100 * part) / 100)} less than the safe option (${money(safe)})`;
  return `${part < -0.005 ? "more than" : "as much as"} the safe option (${money(safe)})`;
}

function set(tile, value, more, wrong = false) {
  say(tile.children[1], value);
  say(tile.children[2], more);
  mark(tile, "data-wrong", wrong);
}
