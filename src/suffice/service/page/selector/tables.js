// The tables of options and groups.

import { conceal, h, keyed, mark, s, say, table, tableRow } from "../dom.js";
import { badge, meter, section, setBadge, setMeter, setTick, statuses, WORST_FIRST } from "../parts.js";
import { count, cut, money, number, option, owed, percent, plain, plural, short } from "../words.js";

export const FEW = 25; // options that are shown at first
export const FEW_GROUPS = 10;
const LONGEST = 160; // characters of an option
export const MANY = 1_000; // rows that are shown at most

// --- arms

const ARMS = [
  { title: "Option", class: "c-option", names: true },
  { title: "Plays", class: "num" },
  { title: "Share", class: "c-share" },
  { title: "Success", class: "c-range" },
  { title: "Cost", class: "num c-cost" },
];

export function optionRows(onAll) {
  const rows = table("Options", ARMS);
  const all = h("button", { type: "button", class: "button small", hidden: true, onclick: onAll }, "");
  const note = h("p", { class: "soft" });
  const more = h("p", { class: "center" }, all);
  return { whole: section("Options", { class: "flush", "data-test": "options" }, note, rows.whole, more), rows, all, note };
}

export function setOptions(part, found, ends, model) {
  const fair = model ? " What a model played is no fair sample, so they come from the other plays." : "";
  // Confidence bounds. Options that contain each other share them, and after a shift they are wrong until it is detected.
  say(part.note, "Most played first, counted since it last had reason to forget. “At most” and “at least” are " +
    `what an option's true rate and cost may be, as far as is known from it and its like.${fair}`);
  keyed(part.rows.body, found.options, (one) => one.arm, () => makeArm(), (row, one) => setArm(row, one, ends));
  setAll(part, found.options.length, found.total);
}

/** The button that shows the rest. */
function setAll(part, shown, total) {
  const most = Math.min(total, MANY);
  conceal(part.all, shown >= most, part.whole);
  say(part.all, most < total ? `Show ${count(most)} of ${count(total)}` : `Show all ${count(total)}`);
}

function makeArm() {
  const row = tableRow(ARMS, { "data-test": "arm" });
  row.cells[0].append(h("span", { class: "option" }), tag());
  row.cells[2].append(h("span", { class: "share" }, meter(), h("span", { class: "num" })));
  const text = h("span", { class: "num range-text" }, h("b", {}), h("span", { class: "soft" }));
  row.cells[3].append(h("span", { class: "range" }, range(), text));
  row.cells[4].append(h("span", {}), h("span", { class: "soft sub" }));
  return row;
}

function setArm(row, one, ends) {
  const [name, plays, share, success, cost] = row.cells;
  setOption(name.firstElementChild, option(one.option));
  setTag(name.lastElementChild, one.arm, ends);
  say(plays, short(one.plays));
  setMeter(share.firstElementChild.firstElementChild, one.share);
  say(share.firstElementChild.lastElementChild, percent(one.share));
  const [picture, text] = success.firstElementChild.children;
  setRange(picture, one.success, one.upper_success);
  say(text.firstElementChild, one.success === null ? "" : percent(one.success));
  say(text.lastElementChild, bounded("at most", one.success, one.upper_success, percent));
  say(cost.firstElementChild, money(one.cost));
  say(cost.lastElementChild, bounded("at least", one.cost, one.lower_cost, money));
}

/** A bound in words. The mean of a few plays may lie beyond the bound; then the mean is the less reliable one. */
export function bounded(how, mean, bound, write) {
  if (mean === bound) return "";
  const beyond = mean !== null && bound !== null && (how === "at most" ? mean > bound : mean < bound);
  const doubted = beyond && write(mean) !== write(bound);
  return doubted ? `so far; thought to be ${how} ${write(bound)}` : `${how} ${write(bound)}`;
}

/** Whether an option is the safe or the skip option. */
export const tag = () => h("span", { class: "tag", hidden: true });

export function setTag(element, arm, ends) {
  const end = arm === ends.safe ? "safe" : arm === ends.skip ? "skip" : "";
  element.hidden = !end;
  say(element, end);
}

/** A foreign text, cut to fit a table; the whole text is its tooltip. */
export function setOption(element, text, most = LONGEST) {
  say(element, cut(text, most));
  mark(element, "title", text.length > 40 ? text : null);
}

/** A mean and its upper bound. */
function range() {
  return s("svg", { class: "range-picture", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "range-bar", x: 0, y: 0, width: 0, height: 10 }),
    s("line", { class: "range-tick", x1: -9, x2: -9, y1: 0, y2: 10 }));
}

function setRange(picture, mean, upper) {
  const [bar, tick] = picture.children;
  const low = mean ?? 0;
  const high = Math.max(low, upper ?? low);
  mark(bar, "x", (100 * low).toFixed(2));
  mark(bar, "width", (100 * (high - low)).toFixed(2));
  setTick(tick, mean);
  mark(picture, "data-open", mean === null); // without outcomes
}

// --- groups

const GROUPS = [
  { title: "Status", class: "c-status" },
  { title: "Group", class: "c-option", names: true },
  { title: "Rate", class: "num" },
  { title: "Target", class: "num" },
  { title: "Debt", class: "num" },
  { title: "Behind at most", class: "num" },
  { title: "Outcomes", class: "num" },
  { title: "Pending", class: "num" },
];

export function groups(onAll) {
  const rows = table("Groups", GROUPS);
  const note = h("p", { class: "soft" });
  const all = h("button", { type: "button", class: "button small", hidden: true, onclick: onAll }, "");
  const more = h("p", { class: "center" }, all);
  const whole = section("Groups", { class: "flush", "data-test": "groups", hidden: true }, note, rows.whole, more);
  return { whole, rows, note, all };
}

export function setGroups(part, certificate) {
  const some = problemsFirst(certificate.groups ?? {});
  part.whole.hidden = some.length === 0;
  if (!some.length) return;
  const counts = Object.entries(certificate.group_statuses);
  const all = counts.reduce((sum, [, many]) => sum + many, 0);
  say(part.note, `Each has a debt and a promise of its own. Of ${plural(all, "group")}: ` +
    `${counts.map(([status, many]) => statuses(status, many)).join(" · ")}. Problems first, then most outcomes.`);
  setAll(part, some.length, all);
  keyed(part.rows.body, some, ([name]) => name, makeGroup, setGroup);
}

/** Names and groups as the server orders them: an object puts names like "7" before all others. */
export function problemsFirst(groups) {
  const worst = (one) => WORST_FIRST.indexOf(one.status);
  return Object.entries(groups).sort(
    ([a, one], [b, other]) => worst(one) - worst(other) || other.outcomes - one.outcomes || (a < b ? -1 : 1),
  );
}

function makeGroup([name]) {
  const row = tableRow(GROUPS, { "data-test": "group" });
  row.cells[0].append(badge());
  row.cells[1].append(h("span", { class: name ? "option" : "option soft" }, plain(name) || "(without a group)"));
  return row;
}

function setGroup(row, [, one]) {
  const [status, , rate, target, debt, most, told, pending] = row.cells;
  setBadge(status.firstElementChild, one.status);
  say(rate, percent(one.rate));
  say(target, percent(one.target));
  say(debt, owed(one.debt));
  say(most, number(one.debt_at_most));
  say(told, short(one.outcomes));
  say(pending, short(one.pending));
}
