// The five main numbers: rate, debt, cost, pending, outcomes.

import { h, mark, say } from "../dom.js";
import { bullet, setBullet } from "../parts.js";
import { money, number, owed, percent, plural, short, span } from "../words.js";

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
  set(tiles.debt, owed(known.debt), limit(known), known.debt > known.debt_at_most);
  set(tiles.cost, money(known.mean_cost), saved(known.mean_cost, known.safe_cost));
  const room = `room for ${short(plan.in_flight)}`;
  const expiry = plan.expire_after === null ? "none expire" : `expire after ${span(plan.expire_after)}`;
  set(tiles.pending, short(known.pending), known.expired ? `${short(known.expired)} expired` : `${room}; ${expiry}`);
  set(tiles.outcomes, short(known.outcomes), `${plural(known.asks, "decision")} asked`);
}

/** The debt against its limit. */
function limit({ status, debt, owed_at_most: owed, debt_at_most: most, violations }) {
  const bound = `limit ${number(most)}`;
  if (debt > most) return `above the ${bound}`;
  // A group may be above its limit although all groups together are not.
  if (status === "broken") return "a group is above its limit";
  if (status === "infeasible" && violations > 0) return "was above its limit";
  if (status === "unproven" && owed <= most) return "a group may be above its limit";
  return owed > Math.max(debt, 0) ? `perhaps ${number(owed)} behind; ${bound}` : `never behind by more; ${bound}`;
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
