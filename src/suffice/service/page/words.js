// Numbers, times and options as text.

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const FOUR = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 4 });
const THREE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 }); // 12.4M, not 12.4m
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECOND = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const NONE = "–";

/** A count: 12,400. */
export const count = (number) => WHOLE.format(number);

/** A count that may be very large: 12,400, then 12.4M. */
export const short = (number) => (Math.abs(number) < 1e6 ? WHOLE.format(number) : SHORT.format(number));

/** A number of successes: four digits are enough. */
export const number = (value) =>
  (value === null ? NONE : FOUR.format(Object.is(value, -0) ? 0 : value).replace("-", "−"));

/** A debt: 3.6 behind, 40 ahead, level. */
export function owed(debt) {
  return debt === 0 ? "level" : `${number(Math.abs(debt))} ${debt > 0 ? "behind" : "ahead"}`;
}

/** A cost. */
export function money(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return String(Number(value.toPrecision(3))); // 5e+90, 1e-90
  return size >= 1e3 ? short(value) : THREE.format(value);
}

/** A share in percent, with enough digits to differ from 0% and from 100%. */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  let digits = 1;
  const rounded = () => Number((100 * share).toFixed(digits));
  while (digits < 14 && share > 0 && share < 1 && (rounded() === 0 || rounded() === 100)) digits += 1;
  return `${rounded()}%`;
}

/** One or many: plural(1, "group"), plural(2, "group"). */
export const plural = (many, word, words = `${word}s`) => `${count(many)} ${many === 1 ? word : words}`;

/** A stretch of seconds: 90 s, 5 min, 2 h, 3 days. */
export function span(seconds) {
  if (seconds < 100) return `${THREE.format(seconds)} s`;
  if (seconds < 3600) return `${THREE.format(Math.round(seconds / 60))} min`;
  if (seconds < 172800) return `${THREE.format(seconds / 3600)} h`;
  return `${THREE.format(seconds / 86400)} days`;
}

let ahead = 0; // seconds by which the server's clock is ahead of this one

/** Use the server's clock, from the header of an answer. */
export function setClock(date) {
  const at = Date.parse(date ?? "");
  if (!Number.isNaN(at)) ahead = Math.abs(at - Date.now()) < 2000 ? 0 : (at - Date.now()) / 1000;
}

export const now = () => Date.now() / 1000 + ahead;

/** How long ago: now, 5 s ago, 3 min ago; then the date. */
export function ago(seconds) {
  const past = Math.max(0, now() - seconds);
  if (past < 1) return "now";
  if (past < 86400) return `${span(past < 100 ? Math.floor(past) : past)} ago`;
  return `${day(seconds)}, ${MINUTE.format(1000 * seconds)}`;
}

/** A moment, to the second. */
export const moment = (seconds) => `${day(seconds)}, ${SECOND.format(1000 * seconds)}`;

/** A day; with the year, if it is another one. */
function day(seconds) {
  const date = new Date(1000 * seconds);
  return (date.getFullYear() === new Date(1000 * now()).getFullYear() ? DAY : FULL).format(date);
}

/** The marks of a time axis, which stand `every` seconds apart. */
export function ticks(splits, every) {
  return splits.map((at, index) => {
    if (at === null) return "";
    const date = new Date(1000 * at);
    if (every >= 2592000) return MONTH.format(date);
    if (every >= 86400) return DAY.format(date);
    const turned = index > 0 && new Date(1000 * splits[index - 1]).getDate() !== date.getDate();
    const clock = (every < 60 ? SECOND : MINUTE).format(date);
    return turned ? DAY.format(date) : clock;
  });
}

/** A text, cut to so many characters with an ellipsis. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);

// Invisible characters that change how others are shown: with them one option could look like another.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Surrogate}]/gu;

/** A foreign text on one line, with invisible characters escaped. */
export const plain = (text) => text.replaceAll(
  UNSEEN, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`,
);

/** A message as a sentence. */
export function sentence(text) {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

const tidy = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(10))));

/** An option in words: small + large, [0.1, 0.4], distance 5, rating 4.5. */
export function option(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return tidy(value);
  if (typeof value === "string") return value === "" ? "(empty)" : plain(value);
  if (Array.isArray(value)) {
    if (!value.length) return "none";
    if (value.every((item) => typeof item === "string")) return value.map(option).join(" + ");
    return `[${value.map(option).join(", ")}]`;
  }
  if (typeof value === "object") {
    return Object.entries(value).map(([name, item]) => `${plain(name)} ${option(item)}`).join(", ") || "{}";
  }
  return String(value);
}

/** A context in one line. */
export const context = (value) => (value === null || value === undefined ? "" : option(value));

/** A curl command that sends a body. */
export function curl(method, address, body, keyed) {
  const parts = [`curl -X ${method} '${address.replaceAll("'", "%27")}'`];
  if (keyed) parts.push(`-H "Authorization: Bearer $SUFFICE_KEY"`);
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json' -d '${json(body).replaceAll("'", `'\\''`)}'`);
  return parts.join(" \\\n  ");
}

/** JSON for people: one field a line, short values in one line. */
export function json(value, indent = "") {
  const flat = JSON.stringify(value);
  if (value === null || typeof value !== "object" || (indent && flat.length < 58)) return spaced(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) return `[\n${value.map((item) => inner + json(item, inner)).join(",\n")}\n${indent}]`;
  const lines = Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${json(item, inner)}`);
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${spaced(item)}`).join(", ")}}`;
}
