// One selector, updated live: the verdict, the numbers, the charts, advice, and a form to try it.

import { ROOT, at, download, get, hasKey } from "../api.js";
import { Charts } from "../charts/all.js";
import { announce, fill, h, mark, say } from "../dom.js";
import { Refresher, listen, patiently } from "../live.js";
import { STATUS, badge, copyable, icon, section, setBadge } from "../parts.js";
import { json, moment, sentence } from "../words.js";
import { setAdvice } from "./advice.js";
import { Events } from "./events.js";
import { Hand } from "./hand.js";
import { facts, hasSkip } from "./plan.js";
import { FEWEST, MOST_ROWS, age, decisions, setDecisions } from "./decisions.js";
import { Switches } from "./switches.js";
import { FEW, FEW_GROUPS, MANY, optionRows, groups, setOptions, setGroups } from "./tables.js";
import { setTiles, tiles } from "./tiles.js";

const AGAIN = 5_000; // milliseconds after which a view may be rebuilt
const LARGEST_PLAN = 20_000; // characters of a plan that is shown

export async function view(page, signal, ready, name) {
  const begun = Date.now();
  fill(page, h("h1", { tabindex: "-1" }, name), h("p", { class: "soft" }, "Loading …"));
  const known = await patiently(signal, () => get(at(name), signal));
  if (signal.aborted) return;
  const ends = { skip: null, safe: null };
  const state = { name, known, ends, total: null, limit: FEW, groups: FEW_GROUPS, rows: FEWEST };
  const refresher = new Refresher([], signal);
  const parts = build(page, state, signal, refresher);
  refresher.parts = looks(state, parts).map((part) => ({ ...part, seen: -1, at: -Infinity }));
  refresher.onLook = (wrong) => setStale(parts.stale, wrong);
  signal.addEventListener("abort", () => parts.charts.close());
  const anew = () => signal.aborted || dispatchEvent(new HashChangeEvent("hashchange"));
  const hear = (found) => {
    // A restarted server may have another selector with this name and another plan.
    if (found.created !== known.created) state.anew ??= setTimeout(anew, Math.max(0, begun + AGAIN - Date.now()));
    if (found.status !== state.known.status) announce(`${name}: ${STATUS[found.status] ?? found.status}`);
    state.known = { ...found, plan: found.plan ?? state.known.plan };
    draw(parts, state);
    refresher.poke();
  };
  draw(parts, state);
  ready(name);
  refresher.poke();
  // Load what changed while the tab was hidden.
  document.addEventListener("visibilitychange", () => document.hidden || refresher.poke(true), { signal });
  const clock = setInterval(() => {
    age(parts.decisions);
    parts.events.age();
  }, 1_000);
  signal.addEventListener("abort", () => clearInterval(clock));
  await listen(name, signal, hear);
}

/** The parts that are polled, and how often at most. */
function looks(state, parts) {
  return [
    {
      name: "options", every: () => (state.limit > FEW ? 5_000 : 3_000), needed: () => true,
      load: async (signal) => {
        const found = await get(at(state.name, "options", { limit: state.limit, order: "plays" }), signal);
        state.total = found.total;
        state.ends = { safe: found.total - 1, skip: hasSkip(state.known.plan) ? 0 : null };
        setOptions(parts.options, found, state.ends, state.known.model);
        drawFacts(parts, state);
      },
    },
    {
      name: "history", every: () => parts.charts.every(), needed: () => true,
      load: async (signal) => parts.charts.set(state.known, await parts.charts.load(state.name, signal), state.ends),
    },
    {
      name: "certificate", every: () => (state.groups > FEW_GROUPS ? 10_000 : 3_000), needed: () => true,
      load: async (signal) => {
        state.certificate = await get(at(state.name, "certificate", { groups: state.groups }), signal);
        setCertificate(parts, state);
      },
    },
    {
      name: "decisions", every: () => 3_000, needed: () => true,
      load: async (signal) => {
        const found = await get(at(state.name, "decisions", { limit: state.rows + 1 }), signal);
        setDecisions(parts.decisions, found.decisions, state.rows, state.known, state.ends);
      },
    },
    {
      name: "context report", every: () => 5_000, needed: () => state.known.model !== null,
      load: async (signal) => {
        setContextReport(parts.contextReport, await get(at(state.name, "context-report"), signal));
      },
    },
  ];
}

function build(page, state, signal, refresher) {
  const parts = {
    badge: badge(),
    verdict: h("p", { class: "verdict" }),
    error: h("p", { class: "error", role: "alert", hidden: true }),
    stale: h("p", { class: "note", role: "status", hidden: true }),
    advice: h("div", { class: "advices" }),
    tiles: tiles(),
    charts: new Charts(() => refresher.poke(true)),
    certificate: section("Certificate", { class: "certificate", "data-test": "certificate" },
      h("div", { class: "certificate-text" })),
    events: new Events(),
    hand: new Hand(state.name, signal, () => refresher.poke(true)),
    facts: h("dl", { class: "facts" }),
    contextReport: section("What the model makes of contexts", { "data-test": "context-report", hidden: true },
      h("div", {})),
  };
  parts.switches = new Switches(state.name, signal, parts.error, (known) => {
    state.known = known;
    draw(parts, state);
    refresher.poke();
  });
  parts.decisions = decisions(state.name, signal, {
    more: () => {
      state.rows = MOST_ROWS;
      refresher.poke(true);
    },
    cancelled: (decision) => {
      parts.hand.drop(decision);
      refresher.poke(true);
    },
  });
  parts.options = optionRows(() => {
    state.limit = MANY;
    refresher.poke(true);
  });
  parts.groups = groups(() => {
    state.groups = MANY;
    refresher.poke(true);
  });
  const columns = h("div", { class: "columns" }, parts.certificate, parts.hand.whole);
  // Before the first outcome the form comes first; it stays there once there are charts.
  const charted = [parts.charts.whole, columns];
  if (state.known.outcomes === 0) charted.reverse();
  const file = (label, below, called) => saved(label, at(state.name, below), called, parts.error, signal);
  fill(page,
    h("p", { class: "crumb" }, h("a", { href: "#/" }, icon("back"), "Selectors")),
    h("div", { class: "head" },
      h("div", { class: "lead" },
        h("div", { class: "title" }, h("h1", { tabindex: "-1" }, state.name), parts.badge), parts.verdict),
      h("div", { class: "links" },
        file("Certificate", "certificate", `${state.name}-certificate.json`),
        file("Decisions", "decisions.csv", `${state.name}-decisions.csv`),
        parts.switches.safe, parts.switches.archive)),
    parts.error, parts.switches.banner, parts.stale, parts.advice, parts.tiles.whole, charted,
    parts.events.whole, parts.groups.whole, parts.options.whole, parts.contextReport, parts.decisions.whole,
    plan(state, parts.facts));
  return parts;
}

function plan(state, facts) {
  const text = json(state.known.plan);
  const shown = text.length > LARGEST_PLAN
    ? h("p", { class: "soft" }, "The plan is too long to be shown here; the API has it.")
    : h("details", {}, h("summary", {}, "As JSON"), copyable("Plan", "the plan as JSON", text).whole);
  return section("Plan", { class: "plan" }, facts, shown);
}

/** A file of the service: a plain link where no key is needed, which needs no memory for large files. */
function saved(label, path, called, error, signal) {
  const said = [`${label} `, h("span", { class: "soft" }, called.split(".").pop().toUpperCase())];
  if (!hasKey()) return h("a", { class: "button small", href: new URL(path, ROOT).href, download: called }, said);
  const fetchIt = async () => {
    error.hidden = true;
    try {
      await download(path, called, signal);
    } catch (problem) {
      say(error, sentence(problem.message));
      error.hidden = false;
    }
  };
  return h("button", { type: "button", class: "button small", onclick: fetchIt }, said);
}

function draw(parts, state) {
  const { known } = state;
  setBadge(parts.badge, known.status);
  say(parts.verdict, known.verdict);
  setTiles(parts.tiles, known);
  parts.charts.whole.hidden = known.outcomes === 0;
  parts.hand.set(known);
  parts.switches.set(known);
  parts.events.set(known.events);
  if (!parts.facts.children.length) drawFacts(parts, state);
  if (state.certificate) setAdvice(parts.advice, known, state.certificate);
}

function drawFacts(parts, state) {
  const found = [...facts(state.known, state.total), ["Made", moment(state.known.created)]];
  const said = JSON.stringify(found);
  if (parts.facts.dataset.said === said) return;
  parts.facts.dataset.said = said;
  fill(parts.facts, found.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function setCertificate(parts, state) {
  const { certificate } = state;
  const box = parts.certificate.lastElementChild;
  const lines = certificate.text.split("\n");
  mark(parts.certificate, "data-status", certificate.status);
  while (box.children.length > lines.length) box.lastElementChild.remove();
  lines.forEach((line, place) => say(box.children[place] ?? box.appendChild(h("p", {})), line));
  setGroups(parts.groups, certificate);
  setAdvice(parts.advice, state.known, certificate);
}

function setContextReport(part, contextReport) {
  part.hidden = false;
  const box = part.lastElementChild;
  const lines = contextReport.text.split("\n");
  while (box.children.length > lines.length) box.lastElementChild.remove();
  lines.forEach((line, place) => say(box.children[place] ?? box.appendChild(h("p", {})), line));
}

/** The parts that could not be loaded, and are therefore outdated. */
function setStale(box, wrong) {
  box.hidden = wrong.size === 0;
  if (wrong.size) say(box, sentence(`not up to date: ${[...wrong.keys()].join(", ")} (${[...wrong.values()].at(-1)})`));
}
