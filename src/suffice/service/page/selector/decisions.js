// The latest decisions, the newest first.

import { conceal, h, keyed, mark, say, table, tableRow } from "../dom.js";
import { section } from "../parts.js";
import { NONE, ago, context, moment, money, number, option, plain } from "../words.js";
import { setOption, setTag, tag } from "./tables.js";

export const FEWEST = 10; // rows that are shown at first
export const MOST_ROWS = 50;
const LONGEST = 60; // characters of an option or a group

const DECISIONS = [
  { title: "Decision", class: "c-decision", names: true },
  { title: "Asked", class: "c-when" },
  { title: "Option", class: "c-option" },
  { title: "State", class: "c-state" },
  { title: "Success", class: "num" },
  { title: "Cost", class: "num" },
  { title: "Group", class: "c-group" },
  { title: "Context", class: "c-context" },
];

export function decisions(onMore) {
  const rows = table("Recent decisions", DECISIONS, { class: "tight" });
  const none = h("p", { class: "soft none", hidden: true });
  const button = h("button", { type: "button", class: "button small", hidden: true, onclick: onMore }, "Show more");
  const more = h("p", { class: "center" }, button);
  const whole = section("Recent decisions", { class: "flush", "data-test": "decisions" }, rows.whole, none, more);
  return { whole, rows, none, button };
}

/** Why the list is empty. Decisions without audit are not listed. */
function absent({ asks, outcomes, pending }) {
  if (outcomes + pending > 0) return "They are no longer kept. A store that lasts keeps them all.";
  return asks ? "None was asked to be audited yet, and only those are listed." : "Nothing was asked yet.";
}

/** Show the newest decisions. One more than is shown may be passed, which means that there are more. */
export function setDecisions(part, all, most, known, ends) {
  const found = all.slice(0, most);
  say(part.none, absent(known));
  conceal(part.button, all.length <= most || most === MOST_ROWS, part.whole);
  part.none.hidden = found.length > 0;
  part.rows.whole.hidden = found.length === 0;
  mark(part.rows.whole, "data-without", [
    found.some((one) => one.group) ? "" : "group", found.some((one) => one.context) ? "" : "context",
  ].join(" ").trim() || null);
  keyed(part.rows.body, found, (one) => one.decision, () => makeDecision(), (row, one) => setDecision(row, one, ends));
}

function makeDecision() {
  const row = tableRow(DECISIONS, { "data-test": "decision-row" });
  row.cells[2].append(h("span", { class: "option" }), tag());
  row.cells[3].append(h("span", { class: "state" }));
  row.cells[7].append(h("span", { class: "option" }));
  return row;
}

const went = (success) => (success >= 1 ? "worked" : success > 0 ? "partly" : "failed");

function setDecision(row, one, ends) {
  const [name, when, what, state, success, cost, group, known] = row.cells;
  say(name, one.decision);
  when.asked = one.asked_at;
  say(when, ago(one.asked_at));
  mark(when, "title", moment(one.asked_at));
  setOption(what.firstElementChild, option(one.option), LONGEST);
  setTag(what.lastElementChild, one.arm, ends);
  say(state.firstElementChild, one.state);
  const told = one.success !== null && one.state !== "skipped";
  mark(state.firstElementChild, "data-state", told ? went(one.success) : one.state);
  say(success, one.success === null ? NONE : { worked: "yes", failed: "no" }[went(one.success)] ?? number(one.success));
  say(cost, money(one.cost));
  setOption(group, one.group === null ? NONE : plain(one.group), LONGEST);
  setOption(known.firstElementChild, context(one.context) || NONE, 2 * LONGEST);
}

/** Update the ages. */
export function age(part) {
  for (const row of part.rows.body.children) say(row.cells[1], ago(row.cells[1].asked));
}
