// What keeps a view up to date: events as they come, looks again and again, and what is said while nobody answers.

import { Offline, Problem, at, get, send } from "./api.js";
import { mark, say } from "./dom.js";

const SAID = { live: "Live", waiting: "Connecting", lost: "Connection lost" };
const FIRST = 500; // milliseconds until the first try to connect again
const LAST = 5_000;
const SILENCE = 40_000; // the server says something every 15 s; after so long the line is dead

let wake = () => {}; // ends a wait before its time

document.addEventListener("visibilitychange", () => document.hidden || wake());
addEventListener("online", () => wake());

/** Show whether what is shown is up to date. */
export function connection(state, said = "") {
  const element = document.getElementById("connection");
  const banner = document.getElementById("banner");
  mark(element, "data-state", state);
  say(document.getElementById("connection-text"), SAID[state]);
  if (state === "lost") say(
    document.getElementById("banner-text"),
    `Connection lost. Trying again …${said ? ` (${said})` : ""}`,
  );
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
      connection("lost", error.message);
      await pause(wait, signal);
      wait = Math.min(LAST, 2 * wait);
    }
  }
}

/** Whether it may be over soon: nobody answers, or the server says that it cannot answer now. */
export function passing(error) {
  return error instanceof Offline || (error instanceof Problem && [429, 502, 503, 504].includes(error.status));
}

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
      await stream(at(name, "events", { every: 1 }), line, (known) => {
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
    connection("lost", problem instanceof Problem ? problem.message : "");
    await pause(wait, signal);
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
async function stream(path, line, hear) {
  let watch = setTimeout(() => line.abort(), SILENCE);
  try {
    const response = await send("GET", path, { signal: line.signal, wait: 0 });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => line.abort(), SILENCE);
      const events = (text + value).split("\n\n");
      text = events.pop();
      const last = events.map(data).filter(Boolean).pop(); // what came before it is past
      if (last) hear(JSON.parse(last));
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Offline("the line broke"); // the stream, not a call
    throw error;
  } finally {
    clearTimeout(watch);
  }
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
        const first = behind.reduce((one, other) => (one.at + one.every() <= other.at + other.every() ? one : other));
        const early = first.at + first.every() - performance.now();
        if (early > 0) {
          await sleep(Math.min(early, 1_000));
          continue;
        }
        await this.look(first);
      }
    } finally {
      this.running = false;
      for (const part of this.parts) part.failed = false;
    }
  }

  async look(part) {
    const version = this.version;
    try {
      await part.load(this.signal);
      part.seen = version;
    } catch (error) {
      if (this.signal.aborted) return;
      part.failed = true; // until the next change: whoever listens says that the connection is lost
      if (!passing(error) && error.name !== "Locked") console.warn(`suffice: ${part.name}: ${error.message}`);
    }
    part.at = performance.now();
  }
}

const sleep = (wait) => new Promise((resolve) => setTimeout(resolve, wait));
