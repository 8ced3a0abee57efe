// Keeping a view up to date: events, polls, and the banner while the server does not answer.

import { Locked, Offline, Problem, at, get, ours, send } from "./api.js";
import { mark, say } from "./dom.js";

const SAID = { live: "Live", connecting: "Connecting", lost: "Connection lost", off: "Not live" };
const FIRST = 500; // milliseconds until the first reconnection
const LAST = 5_000;
const LONGEST = 60_000; // milliseconds that a server may ask us to wait
const SILENCE = 35_000; // milliseconds; the server sends something every 15 s, so the connection is dead
const SLOWEST = 30_000; // milliseconds between two polls at most
const WATCH = 5_000; // milliseconds between two checks of that

let wake = () => {}; // ends a wait early

document.addEventListener("visibilitychange", () => document.hidden || wake());
addEventListener("online", () => wake());

/** Show whether the view is up to date; if not, the `problem`. */
export function connection(state, problem = null) {
  const element = document.getElementById("connection");
  const banner = document.getElementById("banner");
  mark(element, "data-state", state);
  say(document.getElementById("connection-text"), SAID[state]);
  if (state === "lost") {
    const what = problem instanceof Problem ? "The server cannot answer just now." : "Connection lost.";
    say(document.getElementById("banner-text"), `${what} Trying again …${problem ? ` (${problem.message})` : ""}`);
  }
  banner.hidden = state !== "lost";
}

/** The button in the banner, once for the whole page. */
export function begin() {
  document.getElementById("banner-retry").addEventListener("click", () => wake());
}

/** Wait so many milliseconds, or until `wake`; false once the view was left. */
export function pause(wait, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      if (wake === done) wake = () => {};
      resolve(!signal.aborted);
    };
    const timer = setTimeout(done, wait);
    if (wait > 100) wake = done;
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

/** Wait until the tab is visible. */
export function seen(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/** Poll while the tab is visible. */
export async function again(every, signal, look) {
  while (!signal.aborted) {
    await seen(signal);
    const began = performance.now();
    await patiently(signal, look);
    if (signal.aborted) return;
    connection("live");
    // A slow poll is repeated less often.
    await pause(Math.max(every, 8 * (performance.now() - began)), signal);
  }
}

/** Poll; without an answer, try again with growing pauses. */
export async function patiently(signal, look) {
  let wait = FIRST;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (signal.aborted || !passing(error)) throw error;
      connection("lost", error);
      await pause(due(wait, error), signal);
      wait = Math.min(LAST, 2 * wait);
    }
  }
}

/** Whether a problem may be temporary: no answer, or an answer that asks to try again. */
export function passing(error) {
  return error instanceof Offline || (error instanceof Problem && (error.status >= 500 || error.status === 429));
}

/** The pause in milliseconds, at least as long as the server asks for. */
const due = (wait, error) => Math.max(wait, Math.min(LONGEST, 1_000 * (error?.after ?? 0)));

/** Receive the state of a selector, at once and whenever it has changed. */
export async function listen(name, signal, hear) {
  let wait = FIRST;
  while (!signal.aborted) {
    await seen(signal);
    if (signal.aborted) return;
    const line = new AbortController();
    const end = () => line.abort();
    const hide = () => document.hidden && end(); // a hidden tab costs the server nothing
    signal.addEventListener("abort", end);
    document.addEventListener("visibilitychange", hide);
    let problem = null;
    try {
      await stream(name, line, (known) => {
        wait = FIRST;
        connection("live");
        hear(known);
      });
    } catch (error) {
      problem = error;
    } finally {
      signal.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", hide);
      end();
    }
    if (signal.aborted) return;
    if (document.hidden) continue;
    if (problem && problem.name !== "AbortError" && !passing(problem)) throw problem;
    // When the server has no stream left, poll instead.
    if (problem instanceof Problem && problem.status === 503 && (await glance(name, signal, hear))) {
      await pause(2_000, signal);
      continue;
    }
    connection("lost", passing(problem) ? problem : null);
    await pause(due(wait, problem), signal);
    wait = Math.min(LAST, 2 * wait);
  }
}

async function glance(name, signal, hear) {
  try {
    const known = await get(at(name), signal);
    connection("live");
    hear(known);
    return true;
  } catch {
    return false;
  }
}

/** Server-sent events through fetch, which sends the key as EventSource would not. */
async function stream(name, line, hear) {
  let heard = Date.now();
  // By wall clock: a clock that stops while the machine sleeps would miss a dead connection.
  const watch = setInterval(() => Date.now() - heard > SILENCE && line.abort(), WATCH);
  try {
    const path = at(name, "events", { every: 1 });
    const response = await send("GET", path, { signal: line.signal, wait: 0 });
    if (!ours(response, "event-stream")) throw new Offline("what answers is not the server");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read().catch(broken);
      if (done) return;
      heard = Date.now();
      const events = (text + value).split("\n\n");
      text = events.pop();
      const last = events.map(data).filter(Boolean).pop(); // earlier ones are outdated
      if (last) hear(read(last, name));
    }
  } finally {
    clearInterval(watch);
  }
}

function broken(error) {
  throw error.name === "AbortError" ? error : new Offline("the line broke");
}

/** An event of this selector; else it throws Offline. */
function read(text, name) {
  let known = null;
  try {
    known = JSON.parse(text);
  } catch {
    // a proxy cut it, or answered itself
  }
  if (known?.name !== name) throw new Offline("the line broke");
  return known;
}

const data = (event) => event.split("\n").filter(
  (line) => line.startsWith("data: "),
).map((line) => line.slice(6)).join("\n");

/** Polls that run after changes: each no more often than allowed, and one at a time. */
export class Refresher {
  constructor(parts, signal) {
    this.parts = parts.map((part) => ({ ...part, seen: -1, at: -Infinity }));
    this.signal = signal;
    this.version = 0;
    this.running = false;
    this.wrong = new Map(); // parts that cannot be loaded, and why
  }

  /** Something has changed; `all`: load all parts again soon. */
  poke(all = false) {
    this.version += 1;
    if (all) for (const part of this.parts) part.at = -Infinity;
    if (!this.running) this.run();
  }

  async run() {
    this.running = true;
    try {
      while (!this.signal.aborted && !document.hidden) {
        const behind = this.parts.filter((part) => part.seen < this.version && part.needed() && !part.failed);
        if (!behind.length) break;
        const first = behind.reduce((one, other) => (when(one) <= when(other) ? one : other));
        const early = when(first) - performance.now();
        if (early > 0) {
          await sleep(Math.min(early, 1_000));
          continue;
        }
        await this.look(first);
      }
    } finally {
      this.running = false;
      const failed = this.parts.filter((part) => part.failed);
      for (const part of failed) part.failed = false;
      // The next change may be hours away, so parts that failed are retried.
      if (failed.length && !this.signal.aborted) setTimeout(() => this.running || this.run(), LAST);
    }
  }

  async look(part) {
    const version = this.version;
    const began = performance.now();
    try {
      await part.load(this.signal);
      part.seen = version;
      this.wrong.delete(part.name);
    } catch (error) {
      if (this.signal.aborted) return;
      if (error instanceof Locked) part.seen = version; // the user entered no key, so do not ask again
      else part.failed = true; // the stream shows that the connection is lost
      if (error instanceof Problem) this.wrong.set(part.name, error.message);
      else if (part.failed && !passing(error)) console.warn(`suffice: ${part.name}: ${error.message}`);
    }
    part.at = performance.now();
    part.took = part.at - began;
    this.onLook?.(this.wrong);
  }
}

/** When a part may be loaded again: a slow one less often. */
const when = (part) => part.at + Math.max(part.every(), Math.min(SLOWEST, 8 * (part.took ?? 0)));

const sleep = (wait) => new Promise((resolve) => setTimeout(resolve, wait));
