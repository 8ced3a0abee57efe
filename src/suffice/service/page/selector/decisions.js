// The latest decisions, the newest first.

import { conceal, h, keyed, mark, say, table, tableRow } from "../dom.js";
import { section } from "../parts.js";
import { NONE, ago, context, moment, money, number, option, plain, sentence } from "../words.js";
import { cancel, wanted } from "./cancel.js";
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

/** `acts`: what to do when more are wanted, and when one was cancelled. */
export function decisions(name, signal, acts) {
  const rows = table("Recent decisions", DECISIONS, { class: "tight" });
  const none = h("p", { class: "soft none", hidden: true });
  const error = h("p", { class: "error", "data-test": "decisions-error", role: "alert", hidden: true });
  const button = h("button", { type: "button", class: "button small", hidden: true, onclick: acts.more }, "Show more");
  const more = h("p", { class: "center" }, button);
  const whole = section("Recent decisions", { class: "flush", "data-test": "decisions" }, error, rows.whole, none, more);
  const part = { whole, rows, none, button, error };
  part.cancel = (row) => cancelRow(part, row, name, signal, acts.cancelled);
  return part;
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
  keyed(part.rows.body, found, (one) => one.decision, () => makeDecision(part), (row, one) => {
    setDecision(row, one, ends);
    conceal(row.cancel, one.state !== "pending", part.whole);
  });
}

/** Cancel the decision of a row; a refusal is shown above the table. */
async function cancelRow(part, row, name, signal, then) {
  const decision = row.dataset.key;
  part.error.hidden = true;
  if (!(await wanted(decision)) || signal.aborted) return;
  row.cancel.disabled = true;
  try {
    await cancel(name, decision, signal);
    then(decision);
  } catch (error) {
    if (signal.aborted) return;
    say(part.error, sentence(`decision ${decision}: ${error.message}`));
    part.error.hidden = false;
  }
  row.cancel.disabled = false;
  if (document.activeElement === document.body) row.cancel.focus(); // disabling it took it away
}

function makeDecision(part) {
  const row = tableRow(DECISIONS, { "data-test": "decision-row" });
  row.cancel = h("button", {
    type: "button", class: "button tiny", "data-test": "cancel-decision", onclick: () => part.cancel(row),
  }, "Cancel");
  row.cells[2].append(h("span", { class: "option" }), tag());
  row.cells[3].append(h("span", { class: "state" }), row.cancel);
  row.cells[7].append(h("span", { class: "option" }));
  return row;
}

const went = (success) => (success >= 1 ? "worked" : success > 0 ? "partly" : "failed");

function setDecision(row, one, ends) {
  const [name, when, what, state, success, cost, group, known] = row.cells;
  say(name, one.decision);
  mark(row.cancel, "aria-label", `Cancel decision ${one.decision}`);
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
