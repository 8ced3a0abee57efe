// Advice when something is wrong: the evidence, then steps, with the names and numbers of this selector.

import { ROOT, hasKey } from "../api.js";
import { fill, h } from "../dom.js";
import { WORST_FIRST, copyable, icon } from "../parts.js";
import { count, curl, cut, money, number, percent, plain, plural, sentence, span } from "../words.js";
import { safeOf, trimmed } from "./plan.js";
import { problemsFirst } from "./tables.js";

const MOST_SHOWN = 6_000; // characters of a plan that is shown
const LONGEST = 60; // characters of a group's name
const UNLISTED = "None of these groups is among the first, which are listed below: show more of them.";
const ANOTHER = "A promise cannot be changed after the fact, so make a selector of another name.";

const behind = (one) => one.debt > one.debt_at_most; // it is broken, or infeasible and broken too

/** All problems of a selector, the worst first. */
function cases(known, certificate) {
  const { consistent, feasible, violations, safe_failures: failures } = certificate;
  const broken = behind(certificate) || Object.values(certificate.groups ?? {}).some(behind);
  return [
    !consistent && bug(known),
    !feasible && infeasible(known, certificate),
    feasible && failures > 0 && (broken || certificate.safe_fails_too_often) && safeFailed(known, certificate),
    consistent && (broken || certificate.status === "broken" || violations > 0) && debt(certificate, broken),
    certificate.skip_successes > 0 && skipSucceeded(certificate),
    feedback(known, certificate),
    known.archived === null && !known.playing_safe && feasible && !broken && forcedByDebt(known),
    known.archived !== null && archived(known),
  ].filter(Boolean);
}

function bug(known) {
  return {
    name: "bug", icon: "bug", title: "suffice itself is wrong",
    evidence: `The debt of ${known.name} is higher than any behaviour of its options can explain.`,
    steps: [
      "Play the safe option until this is cleared up.",
      "Please report it, with the certificate and the decisions as CSV (above).",
    ],
  };
}

/** The subject of the advice: the whole selector or its worst group; null if no group with the problem is listed. */
function worst(certificate, status, wrong, how) {
  if (!certificate.groups) return { worst: certificate, among: "", within: "" };
  const among = spread(certificate, status, wrong);
  const some = problemsFirst(certificate.groups).filter(([, one]) => wrong(one));
  if (!some.length) return { worst: null, among, within: "" };
  const [name, found] = some.reduce((one, other) => (how(other[1]) > how(one[1]) ? other : one));
  const called = name ? `group ${cut(plain(name), LONGEST)}` : "what has no group";
  return { worst: found, among, within: `in ${called}, ` };
}

/** The number of groups with a problem. Groups of a worse status may have it too: only the list shows that. */
function spread({ groups, group_statuses: counts }, status, wrong) {
  const all = sum(Object.values(counts));
  if (all === 1) return "";
  const worse = WORST_FIRST.slice(0, WORST_FIRST.indexOf(status));
  const listed = Object.values(groups).filter((one) => worse.includes(one.status));
  const many = (counts[status] ?? 0) + listed.filter(wrong).length;
  const least = listed.length < sum(worse.map((one) => counts[one] ?? 0)) ? "at least " : "";
  return ` in ${least}${count(Math.max(1, many))} of ${plural(all, "group")}`; // at least one has it
}

const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

/** How often the safe option fell short: the sentence that both of the next two begin with. */
const short = (certificate) =>
  `fell short in ${count(certificate.safe_failures)} of ${plural(certificate.safe_plays, "play")}`;

function infeasible(known, whole) {
  const failed = (one) => one.safe_failure_at_least;
  const { worst: certificate, among, within } = worst(whole, "infeasible", (one) => !one.feasible, failed);
  const title = `The safe option itself does not reach ${percent(known.target)}${among}`;
  const mend = `If it failed only of late, mend it. Else give the menu a better safe option. ${ANOTHER}`;
  const said = { name: "infeasible", icon: "infeasible", title };
  if (!certificate) return { ...said, evidence: UNLISTED, steps: [mend, "Or promise less."] };
  const least = failed(certificate);
  const sure = floor(1 - certificate.safe_failure_at_most, 2); // a lower bound of its success rate
  const target = floor(0.95 * sure, 2);
  const possible = target > 0.05;
  const less =
    `Or promise less. As far as is known, a target of ${percent(target)} with safe_success ${sure} can be met.`;
  return {
    ...said,
    evidence: sentence(
      `${within}${safeOf(known.plan)} ${short(certificate)}: it fails at least ${percent(least)} of the ` +
      `time (99% sure). The greatest target that it can carry is below ${percent(1 - least)}`,
    ),
    steps: [
      mend,
      possible ? less : `Or promise less: below ${percent(1 - least)}, and how much below more outcomes will show.`,
    ],
    plan: possible ? changed(known, { target }, sure) : null,
  };
}

function safeFailed(known, certificate) {
  const most = certificate.safe_failure_at_most;
  const declared = floor(1 - most, Math.max(2, 1 - Math.floor(Math.log10(most))));
  const room = declared > known.target;
  const nature = "If that is its nature,";
  return {
    name: "safe-failed", icon: "broken", title: "The safe option failed",
    evidence:
      `The promise rests on ${safeOf(known.plan)}, which ${short(certificate)}. Its failure rate is ` +
      `${percent(certificate.safe_failure_at_least)} to ${percent(most)} (99% sure).`,
    steps: [
      "Find out why it failed: an outage, a wrong judge, or outcomes told of the wrong decisions?",
      room
        ? `${nature} declare it: safe_success ${declared}, and expect to pay more. ${ANOTHER}`
        : `${nature} choose a better safe option: a failure rate as high as this leaves a target of ` +
          `${percent(known.target)} little room.`,
    ],
    plan: room ? changed(known, {}, declared) : null,
  };
}

function debt(whole, broken) {
  const past = !broken && whole.status !== "broken";
  // The whole selector may be behind, or only some groups.
  const { worst: certificate, among, within } = past || behind(whole)
    ? { worst: whole, among: "", within: "" }
    : worst(whole, "broken", behind, (one) => one.debt);
  return {
    name: "debt", icon: past ? "limit" : "broken", past,
    title: past ? "The debt was above its limit" : `The debt is above its limit${among}`,
    evidence: certificate ? owing(certificate, within) : UNLISTED,
    steps: [
      past
        ? "Nothing now. The charts below show when it was, and what was played then."
        : "It is played safe already: the safe option is issued until the debt is paid.",
      "A debt grows above its limit only while the safe option fails. Look there first.",
    ],
  };
}

function owing(certificate, within) {
  const { debt: owed, debt_at_most: most, violations, outcomes } = certificate;
  const now = behind(certificate)
    ? sentence(`${within}${number(owed)} successes are owed, where the limit is ${number(most)}`)
    : "It is within the limit again.";
  return `${now} The debt was above the limit after ${count(violations)} of ${plural(outcomes, "outcome")}.`;
}

function skipSucceeded(certificate) {
  const often = `${number(certificate.skip_successes)} times`;
  return {
    name: "skip", icon: "broken", title: "The skip option succeeded",
    evidence: `The skip option, which never should, did so ${often}, so successes may run further ahead.`,
    steps: [
      "If skipping can succeed, it is an option like any other: list it as one, in a menu without a skip option.",
      "If it cannot, look at what is told: is a decision that was skipped told as a success?",
    ],
  };
}

function feedback(known, certificate) {
  const said = missing(known, certificate);
  if (!said.length) return null;
  const { in_flight: room, expire_after: wait } = known.plan;
  const path = new URL(`v1/selectors/${known.name}/tell`, ROOT).pathname;
  return {
    name: "feedback", icon: "unproven", title: "Feedback is missing",
    evidence: said.join(" "),
    steps: [
      "See that each decision is told, also when it failed, when your program fails, and when a person did it: " +
        `POST ${path}.`,
      wait === null
        ? "This plan has no expire_after, so what is lost is outstanding for ever. Set it to a little longer than an " +
          "outcome takes."
        : `Decisions expire after ${span(wait)}. If outcomes take longer, make expire_after longer; what comes late ` +
          "still amends.",
      `in_flight is ${count(room)}. Right is: asks per second times the seconds until an outcome is told, and some room. ` +
        `${ANOTHER}`,
    ],
  };
}

/** Signs that outcomes are not told. */
function missing(known, certificate) {
  const { pending, outcomes, expired } = known;
  const { safe_lost: lost, owed_at_most: owed, debt_at_most: most } = certificate;
  const found = [];
  if (lost > 0) found.push(`${plural(lost, "play")} of the safe option expired, so nobody knows whether they worked.`);
  if (expired >= 5 && expired > 0.05 * outcomes) {
    found.push(`${count(expired)} of ${plural(outcomes, "outcome")} never came: they expired and count as failures.`);
  }
  if (forcedByFlight(known)) {
    found.push(`${count(pending)} decisions are outstanding, and beyond in_flight the safe option is issued: ${dear(known)}.`);
  } else if (outcomes === 0 && pending >= 10) {
    found.push(`${plural(pending, "decision")} are pending, and no outcome was told.`);
  } else if (pending >= 100 && pending > outcomes) {
    found.push(`${count(pending)} decisions are pending, more than were ever told.`);
  }
  if (certificate.status === "unproven" && owed > most) {
    found.push(`If all that has no outcome failed, ${number(owed)} would be owed, where the limit is ${number(most)}.`);
  }
  return found;
}

/** Whether a limit forces the safe option now: only then is the price at its cap. */
const forced = ({ price, cap }) => price !== null && price >= cap;

const room = ({ debt: owed, target, plan }) => owed + target <= plan.max_debt;

function forcedByFlight(known) {
  const { debt: owed, target, pending, plan } = known;
  return forced(known) && room(known) && owed + target * (pending + 1) > plan.max_debt + target * plan.in_flight;
}

/** What the safe option costs, and the others. */
const dear = ({ safe_cost: safe, mean_cost: paid }) =>
  `it costs ${money(safe)}${paid === null ? "" : `, and a decision so far ${money(paid)}`}`;

function forcedByDebt(known) {
  if (!forced(known) || room(known) || known.outcomes === 0) return null;
  const { debt: owed, plan } = known;
  const ahead = owed > 0 ? `${number(owed)} successes are owed` : "Nothing is owed";
  return {
    name: "limit", icon: "limit", title: "The safe option is issued now", calm: true,
    evidence: `${ahead}, and one failure more would exceed max_debt, ${number(plan.max_debt)}: ${dear(known)}.`,
    steps: [
      "Nothing, if it is seldom: each success pays back a part, and then cheaper options are played again.",
      "If it is often, give the menu an option that succeeds more often and costs less than the safe one, or promise " +
        `less, or allow a larger max_debt. ${ANOTHER}`,
    ],
  };
}

function archived(known) {
  const rest = known.pending ? `: ${count(known.pending)} are pending` : "";
  return {
    name: "archived", icon: "archived", title: "Archived", calm: true,
    evidence: `Nothing more can be asked of ${known.name}. Outcomes can still be told, so that none is lost${rest}.`,
    steps: ["“Bring back”, above, makes it answer again. Nothing was deleted."],
  };
}

/** The command that makes a selector of another name with a changed plan. */
function changed(known, changes, sure) {
  const plan = { ...trimmed(known.plan), ...changes };
  const { menu } = plan;
  plan.menu =
    menu.kind === "recipe"
      ? { ...menu, recipe: { ...menu.recipe, safe_success: sure } }
      : { ...menu, safe_success: sure };
  const line = curl("PUT", new URL(`v1/selectors/${another(known.name)}`, ROOT).href, plan, hasKey());
  return line.length > MOST_SHOWN ? null : line;
}

function another(name) {
  const [, stem, place] = /^(.*?)(?:-(\d+))?$/.exec(name);
  return `${stem.slice(0, 58)}-${Number(place ?? 1) + 1}`;
}

const floor = (value, digits) => Number((Math.floor(value * 10 ** digits + 1e-9) / 10 ** digits).toFixed(digits));

/** Show the cases. Unchanged ones are reused, so that their text can be selected. */
export function setAdvice(box, known, certificate) {
  const found = cases(known, certificate);
  const said = JSON.stringify(found);
  if (box.dataset.said === said) return;
  box.dataset.said = said;
  fill(box, found.map(panel));
}

function panel(one) {
  const kind = one.calm ? "advice calm" : one.past ? "advice past" : "advice";
  return h("section", { class: kind, "data-test": "advice", "data-case": one.name, "aria-label": one.title },
    h("div", { class: "advice-head" }, icon(one.icon), h("h2", {}, one.title)),
    h("p", {}, one.evidence),
    h("p", { class: "advice-todo" }, "What to do"),
    h("ol", {}, one.steps.map((step) => h("li", {}, step))),
    one.plan && h("details", {},
      h("summary", {}, "The line that does it"),
      copyable("Shell", "the line that does it", one.plan).whole));
}
