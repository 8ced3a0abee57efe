// A plan in words: the menu, its safe and skip options, whether costs are known.

import { count, number, option, percent, plural, span } from "../words.js";

const KINDS = {
  options: "listed options", top_k: "top k", thresholds: "thresholds", grid: "a grid of thresholds",
  intervals: "intervals", subsets: "subsets",
};

const inner = (menu) => (menu.kind === "recipe" ? menu.recipe : menu);

/** Whether the menu has a skip option. */
export function hasSkip(plan) {
  const menu = inner(plan.menu);
  return plan.menu.kind === "options" ? menu.skip !== null : menu.skip;
}

/** Whether outcomes must state their cost. */
export function costsTold(plan) {
  const menu = inner(plan.menu);
  if (plan.menu.kind === "recipe") return menu.costs === null;
  if (menu.kind === "options") return priced(menu.options).some(([name, cost]) => cost === null && name !== key(menu.safe));
  return ["thresholds", "grid"].includes(menu.kind) && menu.costs === null;
}

const key = (value) => JSON.stringify(value);

/** Options and their costs, of an object or of a list of objects. */
const priced = (options) =>
  Array.isArray(options)
    ? options.map((one) => [key(one.option), one.cost])
    : Object.entries(options).map(([name, cost]) => [key(name), cost]);

/** The facts of a plan, each a name and a value. */
export function facts(known, total) {
  const { plan } = known;
  const menu = inner(plan.menu);
  const kind = KINDS[menu.kind] ?? "own";
  return [
    ["Target", percent(known.target)],
    ["Menu", total === null ? kind : `${kind}: ${sized(plan, total)}`],
    ["Behind by at most", `${number(plan.max_debt)}, and what is in flight`],
    ["In flight", count(plan.in_flight)],
    ["Largest surplus", plan.max_surplus === null ? "√outcomes, at most 40" : number(plan.max_surplus)],
    ["Bounds", known.bounds],
    ["Chooser", known.chooser],
    ["Model", known.model ?? "none"],
    ["Expires after", plan.expire_after === null ? "never" : span(plan.expire_after)],
  ];
}

function sized(plan, total) {
  return hasSkip(plan)
    ? `${plural(total - 2, "option")} between the skip option and the safe option`
    : `${plural(total - 1, "option")} and the safe option`;
}

/** The safe option and its name. */
export function safeOf(plan) {
  const menu = inner(plan.menu);
  const called = menu.safe ?? menu.classes ?? menu.high ?? menu.options?.at?.(-1) ?? null;
  return called === null || called === "safe" ? "the safe option" : `the safe option (${option(called)})`;
}

const USUAL = { max_debt: 5, in_flight: 200, max_surplus: null, model: null, seed: 0, expire_after: null };
const USUAL_LEARNING = { bounds: "auto", chooser: "auto", guard: 1, memory: "auto", prices: "auto" };
const USUAL_MENU = {
  safe_success: 1, costs: null, order: null, safe_cost: null, at_most: null, step: null, horizon: null,
};

const without = (said, usual) =>
  Object.fromEntries(Object.entries(said).filter(([name, value]) => !(name in usual && usual[name] === value)));

/** The plan without its defaults: short enough to read and to send. */
export function trimmed(plan) {
  const usual = plan.menu.kind === "options" ? { ...USUAL_MENU, skip: null } : { ...USUAL_MENU, skip: false, safe: null };
  const { learning: all, ...rest } = plan;
  const learning = without(all ?? {}, USUAL_LEARNING);
  const settings = Object.keys(learning).length > 0 ? { learning } : {};
  return { ...without(rest, USUAL), ...settings, menu: without(plan.menu, usual) };
}
