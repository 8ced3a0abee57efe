// Calls to the service. Addresses are relative to this file, so that the page also works under a path of a proxy.

import { cut, setClock } from "./words.js";

export const ROOT = new URL("../", import.meta.url);
const PATIENCE = 20_000; // milliseconds until a call times out
const ELSEWHERE = "something before the server answers in its place: load this page again to see what";

const LONGEST = 600; // characters of a message that are shown

/** A refusal, in the words of the service; or in ours, where another server answered. */
export class Problem extends Error {
  constructor(status, body, after = 0) {
    const ours = typeof body?.detail === "string";
    super(ours ? cut(body.detail, LONGEST) : `the server answered ${status}`);
    this.ours = ours; // whether the service itself answered, and not a proxy
    this.status = status;
    this.errors = Array.isArray(body?.errors) ? body.errors.filter(placed) : [];
    this.after = after; // seconds until the next try, if the answer has them
  }
}

const placed = (error) => typeof error?.where === "string" && typeof error.problem === "string";

/** There was no answer. */
export class Offline extends Error {}

/** The server requires a key, and the user entered none. */
export class Locked extends Error {}

const keys = { text: null, ask: null };

/** Asks the user for a key; `keys.js` sets it. */
export function onLocked(ask) {
  keys.ask = ask;
}

export function setKey(text) {
  keys.text = text;
}

export const hasKey = () => keys.text !== null;

/** The address of a selector, or of one of its parts. */
export const at = (name, below = "", query = {}) => {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== null && value !== undefined));
  const text = asked.size ? `?${asked}` : "";
  return `v1/selectors/${encodeURIComponent(name)}${below ? `/${below}` : ""}${text}`;
};

/** The response to a call. Where the server requires a key, it asks for one and tries again. */
export async function send(method, path, { body, signal, headers = {}, wait = PATIENCE, key } = {}) {
  for (;;) {
    const used = key ?? keys.text;
    const all = { ...headers };
    if (used) all.Authorization = `Bearer ${used}`;
    if (body !== undefined) all["Content-Type"] = "application/json";
    const response = await reach(new URL(path, ROOT), {
      // A proxy may require cookies. A redirection must not receive the key.
      credentials: "same-origin", redirect: "manual",
      method, headers: all, signal: limited(signal, wait), cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.type === "opaqueredirect") throw new Offline(ELSEWHERE);
    setClock(response.headers.get("date"));
    if (response.ok) return response;
    const problem = await refusal(response);
    if (problem.status !== 401 || key !== undefined || !keys.ask) throw problem;
    // Another call may have got a new key meanwhile.
    if (keys.text === used) await keys.ask(problem, signal);
  }
}

/** The answer as JSON. */
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

/** Whether the answer has the media type of the service; a login page has not. */
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
    // not from the service: perhaps from a proxy
  }
  return new Problem(response.status, body, Number(response.headers.get("retry-after")) || 0);
}

/** Save the content of a path as a file. A plain link would not send the key. */
export async function download(path, name, signal) {
  const response = await send("GET", path, { signal, wait: 0 });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
