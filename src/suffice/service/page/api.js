// Calls to the service: relative to where this file lies, so that the page also works below a path of a proxy.

import { cut, setClock } from "./words.js";

export const ROOT = new URL("../", import.meta.url);
const PATIENCE = 20_000; // milliseconds until a call is given up
const ELSEWHERE = "something before the server answers in its place: load this page again to see what";

const LONGEST = 600; // characters of what a server says: it may have been sent something endless

/** What the service refused, in its own words; in ours where something else answered in its place. */
export class Problem extends Error {
  constructor(status, body, after = 0) {
    const ours = typeof body?.detail === "string";
    super(ours ? cut(body.detail, LONGEST) : `the server answered ${status}`);
    this.ours = ours; // said by the service itself, and not by something before it
    this.status = status;
    this.errors = Array.isArray(body?.errors) ? body.errors.filter(placed) : [];
    this.after = after; // seconds after which to try again, where that was said
  }
}

const placed = (error) => typeof error?.where === "string" && typeof error.problem === "string";

/** Nobody answered. */
export class Offline extends Error {}

/** A key is wanted, and whoever was asked for one gave none. */
export class Locked extends Error {}

const keys = { text: null, ask: null };

/** How a key is asked for: set by `keys.js`. */
export function onLocked(ask) {
  keys.ask = ask;
}

export function setKey(text) {
  keys.text = text;
}

export const hasKey = () => keys.text !== null;

/** The address of a selector, or of what is below it. */
export const at = (name, below = "", query = {}) => {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined));
  const text = asked.size ? `?${asked}` : "";
  return `v1/selectors/${encodeURIComponent(name)}${below ? `/${below}` : ""}${text}`;
};

/** An answer as it comes. It asks for a key where one is wanted, and then tries again. */
export async function send(method, path, { body, signal, headers = {}, wait = PATIENCE, key } = {}) {
  for (;;) {
    const used = key ?? keys.text;
    const all = { ...headers };
    if (used) all.Authorization = `Bearer ${used}`;
    if (body !== undefined) all["Content-Type"] = "application/json";
    const response = await reach(new URL(path, ROOT), {
      // Cookies may be wanted by a proxy before the server. A key goes where it was meant to, and nowhere else.
      credentials: "same-origin", redirect: "manual",
      method, headers: all, signal: limited(signal, wait), cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.type === "opaqueredirect") throw new Offline(ELSEWHERE);
    setClock(response.headers.get("date"));
    if (response.ok) return response;
    const problem = await refusal(response);
    if (problem.status !== 401 || key !== undefined || !keys.ask) throw problem;
    // Another call may have brought a new key while this one was under way.
    if (keys.text === used) await keys.ask(problem, signal);
  }
}

/** What was answered, as JSON. */
export async function call(method, path, how = {}) {
  const response = await send(method, path, how);
  if (!ours(response, "json")) throw new Offline(ELSEWHERE);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Offline("the answer broke off");
  }
}

/** Whether an answer is of the kind that the service gives there: a login page is not. */
export const ours = (response, kind) => (response.headers.get("content-type") ?? "").includes(kind);

export const get = (path, signal) => call("GET", path, { signal });

async function reach(url, init) {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Offline(error.name === "TimeoutError" ? "no answer in time" : "nobody answers");
  }
}

function limited(signal, wait) {
  const signals = [signal, wait ? AbortSignal.timeout(wait) : null].filter(Boolean);
  return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
}

async function refusal(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // not one of ours: a proxy between us, say
  }
  return new Problem(response.status, body, Number(response.headers.get("retry-after")) || 0);
}

/** Save what is at a path as a file: with the key, which a plain link would not send. */
export async function download(path, name, signal) {
  const response = await send("GET", path, { signal, wait: 0 });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
