// The list of all selectors and their states.

import { Problem, ROOT, get, hasKey } from "./api.js";
import { announce, conceal, fill, h, keyed, mark, say, table, tableRow } from "./dom.js";
import { again, passing } from "./live.js";
import { STATUS, WORST_FIRST, badge, bullet, copyable, icon, setBadge, setBullet, statuses } from "./parts.js";
import { count, curl, money, percent, sentence, short } from "./words.js";

const EVERY = 2_000; // milliseconds between two polls
const PAGE = 100;
const LARGEST = 500; // selectors in one answer of the service
const STILL = 250; // milliseconds without typing before the service is asked
const PART = /^[a-z0-9._-]{1,64}$/; // parts of valid names; the service need not be asked for others

const COLUMNS = [
  { title: "Status", class: "c-status" },
  { title: "Selector", class: "c-name", names: true },
  { title: "Success rate", class: "c-rate" },
  { title: "Outcomes", class: "num" },
  { title: "Cost per decision", class: "num" },
  { title: "Pending", class: "num" },
  { title: "Expired", class: "num" },
];

const EXAMPLE = {
  menu: { kind: "options", options: { small: 0.1, large: 0.4, "a person": 1 }, safe: "a person" },
  target: 0.9,
};

// The choices are kept while a selector is shown.
const chosen = { shown: PAGE, filter: "", worst: false, archived: false, partial: false };

export async function view(page, signal, ready) {
  const state = Object.assign(chosen, { selectors: [], more: false, sought: "", refused: "" });
  const parts = build(page, state, () => draw(parts, state), () => look());
  let first = true;
  let statuses = null;
  let under = new AbortController(); // aborts the running poll

  async function look() {
    under.abort(); // it has older choices
    const mine = (under = new AbortController());
    let found = null;
    try {
      found = await load(state, AbortSignal.any([signal, mine.signal]));
    } catch (error) {
      if (!mine.signal.aborted) throw error;
    }
    if (signal.aborted || mine.signal.aborted) return;
    Object.assign(state, found);
    draw(parts, state);
    statuses = tell(state.selectors, statuses);
    if (first) {
      first = false;
      ready("Selectors");
    }
  }
  await again(EVERY, signal, look);
}

/** The selectors to show. While the list is incomplete, the server filters. */
async function load(state, signal) {
  const { shown, archived, filter } = state;
  const asked = PART.test(filter) ? { archived, contains: filter } : null;
  let sought = asked && state.partial ? await seek(asked, shown, signal) : null;
  if (sought?.refused === "") return sought;
  const found = { ...(await some({ archived }, shown, signal)), refused: "" };
  if (!filter || !found.more) return { ...found, partial: found.more };
  sought ??= asked ? await seek(asked, shown, signal) : { selectors: [], more: false, sought: filter };
  return { ...found, ...sought, partial: true };
}

/** The filtered selectors, or the reason why the server does not filter. */
async function seek(asked, most, signal) {
  try {
    return { ...(await some(asked, most, signal)), refused: "" };
  } catch (error) {
    if (!(error instanceof Problem) || passing(error)) throw error;
    return { refused: error.message };
  }
}

/** So many selectors, in as few requests as possible. */
async function some(asked, most, signal) {
  const found = [];
  let after = "";
  while (after !== null && found.length < most) {
    const limit = Math.min(LARGEST, most - found.length);
    const page = await get(`v1/selectors?${new URLSearchParams({ after, limit, ...asked })}`, signal);
    found.push(...page.selectors);
    after = page.next;
  }
  return { selectors: found, more: after !== null, sought: asked.contains ?? "" };
}

/** Announce changes of status since the last poll. */
function tell(selectors, before) {
  const found = new Map(selectors.map((one) => [one.name, one.status]));
  if (before) {
    const changed = selectors.filter((one) => before.has(one.name) && before.get(one.name) !== one.status);
    if (changed.length) announce(changed.slice(0, 3).map((one) => `${one.name}: ${STATUS[one.status]}`).join(". "));
  }
  return found;
}

function build(page, state, redraw, reload) {
  const again = () => reload().catch(() => {}); // the next poll shows the problem
  let typed = null;
  const filter = h("input", {
    type: "search", name: "filter", "data-test": "filter", placeholder: "Filter by name", value: state.filter,
    "aria-label": "Filter by name", maxlength: "64", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    oninput: (event) => {
      Object.assign(state, { filter: event.target.value.trim().toLowerCase(), refused: "" });
      redraw(); // what is loaded already
      clearTimeout(typed);
      if (state.partial) typed = setTimeout(again, STILL);
    },
  });
  const toggle = (label, name, then) =>
    h("label", { class: "check" }, h("input", {
      type: "checkbox", name, checked: state[name],
      onchange: (event) => {
        state[name] = event.target.checked;
        then();
      },
    }), h("span", {}, label));
  const summary = h("p", { class: "summary", "data-test": "summary" }, "Loading …");
  const rows = table("Selectors", COLUMNS, { class: "selectors" });
  const more = h("button", {
    type: "button", class: "button", hidden: true,
    onclick: () => {
      state.shown += state.shown < LARGEST ? PAGE : LARGEST;
      again();
    },
  }, "Show more");
  const none = h("p", { class: "soft none", hidden: true });
  const card = h("div", { class: "card flush", "data-test": "selectors", hidden: true }, rows.whole, none);
  const tools = h("div", { class: "tools", hidden: true },
    filter, toggle("Problems first", "worst", redraw), toggle("Archived too", "archived", again));
  const empty = h("div", { hidden: true });
  fill(page,
    h("div", { class: "head" },
      h("div", {}, h("h1", { tabindex: "-1" }, "Selectors"), summary),
      h("a", { class: "button strong", href: "#/new", "data-test": "new" }, icon("plus"), "New selector")),
    tools, card, h("p", { class: "center" }, more), empty);
  return { summary, rows, more, none, card, tools, empty };
}

function draw(parts, state) {
  const { selectors, filter } = state;
  const nothing = selectors.length === 0 && !state.archived && !state.sought;
  if (nothing && parts.empty.hidden) fill(parts.empty, invitation());
  parts.empty.hidden = !nothing;
  for (const part of [parts.card, parts.tools, parts.summary]) part.hidden = nothing;
  let shown = selectors.filter((one) => one.name.includes(filter));
  say(parts.summary, nothing ? "" : summed(shown, state));
  if (state.worst) {
    const rank = (one) => WORST_FIRST.indexOf(one.status);
    shown = [...shown].sort((one, other) => rank(one) - rank(other)); // the sort is stable
  }
  keyed(parts.rows.body, shown, (one) => one.name, makeRow, setRow);
  parts.none.hidden = nothing || shown.length > 0;
  say(parts.none, missed(state));
  parts.rows.whole.hidden = shown.length === 0;
  conceal(parts.more, !state.more, parts.card);
}

/** Why no row is shown. */
function missed({ filter, partial, sought, refused, selectors }) {
  if (!filter) return "There are none.";
  if (!partial || sought === filter || !PART.test(filter)) return `No selector has “${filter}” in its name.`;
  if (!refused) return "Looking …"; // the answer has not arrived
  const here = `none of the first ${count(selectors.length)} has “${filter}” in its name`;
  return sentence(`${here}, and for the others the server could not be asked: ${refused}`);
}

/** 48 kept · 1 broken · 2 unproven */
function summed(selectors, { filter, more, selectors: all }) {
  const order = ["kept", ...WORST_FIRST.filter((status) => status !== "kept")];
  const counts = order.map((status) => [status, selectors.filter((one) => one.status === status).length]);
  const said = counts.filter(([, many]) => many).map(([status, many]) => statuses(status, many));
  if (filter && said.length) said.push(`with “${filter}” in the name`);
  if (more) said.push(`${said.length ? "of" : "none of"} the first ${count(all.length)}`);
  return said.join(" · ");
}

function makeRow(one) {
  const row = tableRow(COLUMNS, { "data-test": "selector", "data-name": one.name });
  const [status, name, rate, , cost] = row.cells;
  status.append(badge());
  name.append(h("a", { class: "cover", href: `#/selectors/${encodeURIComponent(one.name)}` }, one.name));
  rate.append(
    h("div", { class: "rate" }, bullet(), h("span", { class: "rate-text" }, h("b", {}), h("span", { class: "soft" }))),
  );
  cost.append(h("span", {}), h("span", { class: "soft sub" }));
  return row;
}

function setRow(row, one) {
  const [status, , rate, told, cost, pending, expired] = row.cells;
  mark(row, "class", one.archived === null ? null : "is-archived");
  setBadge(status.firstElementChild, one.status);
  const [bar, text] = rate.firstElementChild.children;
  setBullet(bar, one.rate, one.target);
  mark(bar, "data-status", one.status);
  say(text.firstElementChild, one.rate === null ? "" : percent(one.rate));
  say(text.lastElementChild, `target ${percent(one.target)}`);
  say(told, short(one.outcomes));
  say(cost.firstElementChild, money(one.mean_cost));
  const share = rounded(one.mean_cost / one.safe_cost);
  say(cost.lastElementChild, one.mean_cost === null ? "" : `${percent(share)} of safe`);
  say(pending, short(one.pending));
  say(expired, short(one.expired));
  mark(pending, "data-none", one.pending === 0 && one.expired === 0); // not worth a line on a phone
  mark(expired, "data-none", one.pending === 0 && one.expired === 0);
}

const rounded = (share) => (share > 0.01 ? Math.round(100 * share) / 100 : share);

function invitation() {
  const line = curl("PUT", new URL("v1/selectors/router", ROOT).href, EXAMPLE, hasKey());
  return h("div", { class: "empty", "data-test": "empty" },
    h("h2", {}, "No selectors yet"),
    h("p", { class: "soft" }, "A selector holds one success rate at the least cost. Make one here, or from a shell:"),
    copyable("Shell", "the line that makes a selector", line).whole,
    h("p", {}, h("a", { class: "button strong", href: "#/new" }, "Make a selector")));
}
