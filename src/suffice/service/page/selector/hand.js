// Ask and tell by hand. Decisions stay in the list until they are told.

import { Offline, Problem, at, call } from "../api.js";
import { announce, h, keyed, mark, say } from "../dom.js";
import { section } from "../parts.js";
import { option, sentence } from "../words.js";
import { askedRow } from "./asked.js";
import { cancel, wanted } from "./cancel.js";
import { costsTold } from "./plan.js";

const MOST = 50; // decisions in the list
const FIELDS = ["group", "context", "available"];

export class Hand {
  constructor(name, signal, onChange) {
    this.name = name;
    this.signal = signal;
    this.onChange = onChange; // called when something was asked or told
    this.known = null;
    this.refusal = false; // whether the key may not ask
    this.asked = remembered(name);
    this.retry = null; // the idempotency key of an ask without an answer, to get the same decision
    this.build();
  }

  build() {
    this.error = h("p", { class: "error", "data-test": "hand-error", role: "alert", hidden: true });
    this.refused = h("p", { class: "note", "data-test": "refused", role: "alert", hidden: true });
    this.button = h("button", { type: "submit", class: "button strong", "data-test": "ask" }, "Ask");
    this.offer = h("div", { class: "actions", hidden: true },
      h("button", {
        type: "button", class: "button small", "data-test": "insist", onclick: (event) => this.ask(event, true),
      }, "Insist"),
      h("span", { class: "soft" }, "on the best of what is available. That is counted, and raises every limit."));
    const text = { rows: "2", spellcheck: "false" };
    this.group = field("group", "Group", h("input", { name: "group", autocomplete: "off", maxlength: "200" }));
    this.context = field("context", "Context, as JSON",
      h("textarea", { name: "context", placeholder: '{"words": 40}', ...text }));
    this.available = field("available", "Available options, as a JSON list",
      h("textarea", { name: "available", placeholder: '["small"]', ...text }));
    const form = h("form", { class: "hand", novalidate: true, onsubmit: (event) => this.ask(event) },
      h("div", { class: "actions" }, this.button, h("span", { class: "soft" }, "what to do; then say how it went.")),
      h("details", {},
        h("summary", {}, "With a group, a context, or fewer options"),
        h("div", { class: "fields" }, FIELDS.map((name) => this[name].whole))),
      this.error, this.offer, this.refused);
    this.rows = h("ul", { class: "asked" });
    const note = h("p", { class: "soft" }, "These are real decisions: they count.");
    this.whole = section("Try it by hand", { class: "hand-card" }, note, form, this.rows);
  }

  /** Update the form to the state of the selector. */
  set(known) {
    this.known = known;
    this.context.whole.hidden = known.model === null;
    this.lock();
    this.draw();
  }

  lock() {
    const archived = this.known !== null && this.known.archived !== null;
    this.button.disabled = archived || this.refusal;
    mark(this.button, "title", archived ? "It is archived" : null);
  }

  draw() {
    const told = costsTold(this.known.plan);
    const acts = {
      tell: (...how) => this.tell(...how), cancel: (...how) => this.cancel(...how), forget: (one) => this.forget(one),
    };
    keyed(this.rows, this.asked, (one) => one.decision, (one) => askedRow(one, told, acts), () => {});
  }

  async ask(event, insist = false) {
    event.preventDefault();
    const body = this.body();
    if (body === null) return;
    if (insist) body.insist = true;
    this.button.disabled = true;
    const said = JSON.stringify(body);
    if (this.retry?.said !== said) this.retry = { said, key: fresh() };
    try {
      const headers = { "Idempotency-Key": this.retry.key };
      const found = await call("POST", at(this.name, "ask"), { body, headers, signal: this.signal });
      this.retry = null;
      this.keep([found, ...this.asked].slice(0, MOST));
      announce(`Decision ${found.decision}: ${option(found.option)}`);
      this.onChange();
      this.rows.querySelector("[data-test=worked]")?.focus();
    } catch (error) {
      this.say(error);
      const needed = error instanceof Problem && error.status === 424;
      this.offer.hidden = !(needed && body.available?.length > 0 && !insist);
    }
    this.lock();
    if (document.activeElement === document.body) this.button.focus(); // disabling it took it away
  }

  /** The body of the ask; null if the input is invalid. */
  body() {
    this.clear();
    const body = {};
    const group = this.group.input.value.trim();
    if (group) body.group = group;
    for (const name of ["context", "available"]) {
      const text = this[name].whole.hidden ? "" : this[name].input.value.trim();
      if (!text) continue;
      try {
        body[name] = JSON.parse(text);
      } catch {
        this[name].wrong("must be JSON");
        this[name].input.focus();
        return null;
      }
    }
    return body;
  }

  async tell(row, one, success, cost) {
    const body = { decision: one.decision, success, ...(cost === "" ? {} : { cost: Number(cost) }) };
    await this.settle(row, one, async () => {
      await call("POST", at(this.name, "tell"), { body, signal: this.signal });
      announce(`Decision ${one.decision} told`);
    });
  }

  async cancel(row, one) {
    if (!(await wanted(one.decision)) || this.signal.aborted) return;
    await this.settle(row, one, () => cancel(this.name, one.decision, this.signal));
  }

  /** Settle a decision by `act`; a refusal is shown in its row. */
  async settle(row, one, act) {
    row.lock(true);
    try {
      await act();
      this.onChange();
      this.forget(one);
    } catch (error) {
      if (this.signal.aborted) return;
      row.lock(false);
      row.fail(error);
      if (error instanceof Problem && error.status === 403) this.say(error);
    }
  }

  /** Take a decision out of the list. */
  drop(decision) {
    this.keep(this.asked.filter((other) => other.decision !== decision));
  }

  forget(one) {
    this.drop(one.decision);
    (this.rows.querySelector("[data-test=worked]") ?? this.button).focus();
  }

  keep(asked) {
    this.asked = asked;
    try {
      sessionStorage.setItem(place(this.name), JSON.stringify(asked)); // it survives a reload of this tab
    } catch {
      // without storage it lasts as long as the page
    }
    this.draw();
  }

  /** Show each problem beside its field. */
  say(error) {
    if (this.signal.aborted) return;
    if (error instanceof Problem && error.status === 403) {
      this.refusal = true;
      say(this.refused, sentence(error.message));
      this.refused.hidden = false;
      return;
    }
    const rest = (error.errors ?? []).filter(({ where, problem }) => {
      const name = FIELDS.find((one) => where === one || where.startsWith(`${one}.`) || where.startsWith(`${one}[`));
      if (name) this[name].wrong(`${where} ${problem}`);
      return !name;
    });
    if (!rest.length && error.errors?.length) return;
    const offline = "The server cannot be reached. Ask again: it will be the same decision.";
    say(this.error, error instanceof Offline ? offline : sentence(error.message));
    this.error.hidden = false;
  }

  clear() {
    this.error.hidden = true;
    this.offer.hidden = true;
    for (const name of FIELDS) this[name].wrong("");
  }
}

const place = (name) => `suffice.asked.${name}`;

function remembered(name) {
  try {
    const found = JSON.parse(sessionStorage.getItem(place(name)) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function field(name, label, input) {
  const wrong = h("span", { class: "error", id: `hand-${name}-error`, hidden: true });
  input.setAttribute("aria-describedby", wrong.id);
  return {
    whole: h("label", { class: "field" }, h("span", { class: "label" }, label), input, wrong),
    input,
    wrong(text) {
      say(wrong, text);
      wrong.hidden = !text;
      mark(input, "aria-invalid", text ? "true" : null);
    },
  };
}

function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
