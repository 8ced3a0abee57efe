// What keeps a view up to date: events as they come, looks again and again, and what is said while nobody answers.

import { Locked, Offline, Problem, at, get, ours, send } from "./api.js";
import { mark, say } from "./dom.js";

const SAID = { live: "Live", waiting: "Connecting", lost: "Connection lost", off: "Not live" };
const FIRST = 500; // milliseconds until the first try to connect again
const LAST = 5_000;
const LONGEST = 60_000; // that a server is given which says how long to wait
const SILENCE = 35_000; // the server says something every 15 s; after so long the line is dead
const SLOWEST = 30_000; // milliseconds between two looks, however long they take
const WATCH = 5_000; // milliseconds between two looks whether it is

let wake = () => {}; // ends a wait before its time

document.addEventListener("visibilitychange", () => document.hidden || wake());
addEventListener("online", () => wake());

/** Show whether what is shown is up to date; if not, for which `problem`. */
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

/** Wait so many milliseconds, or until there is a reason not to; false once the view was left. */
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

/** Wait until the tab can be seen. */
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

/** Look again and again while the tab is seen. */
export async function again(every, signal, look) {
  while (!signal.aborted) {
    await seen(signal);
    const began = performance.now();
    await patiently(signal, look);
    if (signal.aborted) return;
    connection("live");
    // A look that takes long is not taken often.
    await pause(Math.max(every, 8 * (performance.now() - began)), signal);
  }
}

/** Look, and while nobody answers look again, ever more slowly. */
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

/** Whether it may be over soon: nobody answers, or the server says that it cannot answer now. */
export function passing(error) {
  return error instanceof Offline || (error instanceof Problem && (error.status >= 500 || error.status === 429));
}

/** How long to wait: at least as long as the server said. */
const due = (wait, error) => Math.max(wait, Math.min(LONGEST, 1_000 * (error?.after ?? 0)));

/** Hear where a selector stands, at once and whenever that has changed. */
export async function listen(name, signal, hear) {
  let wait = FIRST;
  while (!signal.aborted) {
    await seen(signal);
    if (signal.aborted) return;
    const line = new AbortController();
    const end = () => line.abort();
    const hide = () => document.hidden && end(); // a tab that nobody sees costs the server nothing
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
    // Where all places to listen are taken, a look does as well.
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
  // By the clock on the wall: one that stands still while the machine sleeps would take a dead line for alive.
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
      const last = events.map(data).filter(Boolean).pop(); // what came before it is past
      if (last) hear(read(last, name));
    }
  } finally {
    clearInterval(watch);
  }
}

function broken(error) {
  throw error.name === "AbortError" ? error : new Offline("the line broke");
}

/** An event, or Offline where it is none of this selector. */
function read(text, name) {
  let known = null;
  try {
    known = JSON.parse(text);
  } catch {
    // something on the way cut it, or put something else in its place
  }
  if (known?.name !== name) throw new Offline("the line broke");
  return known;
}

const data = (event) => event.split("\n").filter(
  (line) => line.startsWith("data: "),
).map((line) => line.slice(6)).join("\n");

/** Looks that are taken when something has changed, each no more often than it may, never two at once. */
export class Refresher {
  constructor(parts, signal) {
    this.parts = parts.map((part) => ({ ...part, seen: -1, at: -Infinity }));
    this.signal = signal;
    this.version = 0;
    this.running = false;
    this.wrong = new Map(); // what cannot be looked at, and why
  }

  /** Something has changed; `all`: look at everything again, as soon as may be. */
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
      // Nothing may change for hours, and what failed should not be missing for as long.
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
      if (error instanceof Locked) part.seen = version; // who gave no key is not asked again and again
      else part.failed = true; // whoever listens says that the connection is lost
      if (error instanceof Problem) this.wrong.set(part.name, error.message);
      else if (part.failed && !passing(error)) console.warn(`suffice: ${part.name}: ${error.message}`);
    }
    part.at = performance.now();
    part.took = part.at - began;
    this.onLook?.(this.wrong);
  }
}

/** When a part may be looked at again: a look that takes long is not taken often. */
const when = (part) => part.at + Math.max(part.every(), Math.min(SLOWEST, 8 * (part.took ?? 0)));

const sleep = (wait) => new Promise((resolve) => setTimeout(resolve, wait));
