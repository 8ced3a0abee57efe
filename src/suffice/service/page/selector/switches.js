// What changes a selector as a whole, each after confirmation: archiving it, and playing safe in an emergency.

import { Problem, at, call } from "../api.js";
import { announce, h, mark, say } from "../dom.js";
import { confirmed, icon } from "../parts.js";
import { money, sentence } from "../words.js";
import { safeOf } from "./plan.js";

const ARCHIVED =
  "Nothing more can be asked of it. Outcomes can still be told, nothing is deleted, and it can be brought back.";

export class Switches {
  constructor(name, signal, error, onChange) {
    Object.assign(this, { name, signal, error, onChange }); // `onChange` takes the new state of the selector
    this.known = null;
    const button = (test, kind, onclick, text) =>
      h("button", { type: "button", class: `button small ${kind}`, "data-test": test, onclick }, text);
    this.archive = button("archive", "", () => this.turnArchived(), "Archive");
    this.safe = button("play-safe", "warning", () => this.playSafe(), "Play safe");
    this.free = button("stop-safe", "", () => this.stopSafe(), "Stop playing safe");
    this.said = h("p", {});
    this.banner = h("div", { class: "emergency", "data-test": "safe-banner", role: "status", hidden: true },
      icon("limit"), this.said, this.free);
  }

  set(known) {
    const was = this.known;
    this.known = known;
    const archived = known.archived !== null;
    say(this.archive, archived ? "Bring back" : "Archive");
    this.safe.hidden = archived || known.playing_safe;
    this.banner.hidden = archived || !known.playing_safe;
    if (known.playing_safe) {
      say(this.said, `Playing safe: every decision is ${safeOf(known.plan)}, at ${money(known.safe_cost)} each, whatever ` +
        "happens. Switch it off once the emergency is over.");
    }
    if (was && was.playing_safe !== known.playing_safe) {
      announce(`${this.name} ${known.playing_safe ? "plays safe" : "plays safe no more"}`);
    }
  }

  playSafe() {
    const { plan, safe_cost: safe, mean_cost: paid } = this.known;
    const before = paid === null ? "" : `, where a decision so far cost ${money(paid)}`;
    return this.change(this.safe, {
      title: `Play safe with ${this.name}?`,
      text: `From now on every decision is ${safeOf(plan)}, at ${money(safe)} each${before}, until somebody switches it ` +
        "off. An ask that leaves the safe option out is refused, unless it insists.",
      yes: "Play safe", danger: true,
    }, ["POST", at(this.name, "play-safe"), { on: true }]);
  }

  stopSafe() {
    return this.change(this.free, {
      title: "Stop playing safe?",
      text: "Other options are issued again, within the limits of the promise.",
      yes: "Stop playing safe",
    }, ["POST", at(this.name, "play-safe"), { on: false }]);
  }

  turnArchived() {
    const { name, known } = this;
    if (known.archived === null) {
      return this.change(this.archive, { title: `Archive ${name}?`, text: ARCHIVED, yes: "Archive", danger: true },
        ["DELETE", at(name)], `${name} is archived`);
    }
    return this.change(this.archive, {
      title: `Bring ${name} back?`, text: "It will answer asks again, with the same plan.", yes: "Bring back",
    }, ["PUT", at(name), known.plan], `${name} is back`);
  }

  /** Ask, call, and show the new state, or the refusal. */
  async change(button, question, [method, path, body], said = null) {
    if (!(await confirmed(question)) || this.signal.aborted) return;
    this.error.hidden = true;
    button.disabled = true;
    try {
      const known = await call(method, path, { body, signal: this.signal });
      if (said) announce(said);
      this.onChange(known);
    } catch (error) {
      if (this.signal.aborted) return;
      say(this.error, sentence(error.message));
      this.error.hidden = false;
      if (error instanceof Problem && error.status === 403) mark(button, "title", error.message);
    }
    button.disabled = button.title !== "";
    // Disabling or hiding the button took the focus away.
    if (document.activeElement === document.body) [button, this.free, this.safe].find(shown)?.focus();
  }
}

const shown = (button) => !button.disabled && button.checkVisibility();
