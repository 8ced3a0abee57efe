// Making a selector: a form, and beside it the plan that it gives. The service checks the values.

import { Offline, Problem, ROOT, at, call, hasKey } from "../api.js";
import { announce, fill, h, mark, say } from "../dom.js";
import { connection } from "../live.js";
import { copyable } from "../parts.js";
import { curl, json } from "../words.js";
import { check, field, numeric } from "./fields.js";
import { KINDS, formOf } from "./menus.js";
import { PRESETS } from "./presets.js";

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const NAMED =
  "must have 1 to 64 characters, a to z, 0 to 9, dots, dashes and underscores, and begin with a letter or a digit";
const SAID = "One success rate to hold, and what may be chosen to hold it. Begin from an example, or from nothing.";

export async function view(page, signal, ready) {
  connection("live");
  new Make(page, signal);
  ready("New selector");
}

class Make {
  constructor(page, signal) {
    this.signal = signal;
    this.name = field({
      name: "name", label: "Name", where: "name", placeholder: "router", maxlength: "64", autocapitalize: "none",
      hint: "a to z, 0 to 9, dots and dashes. It cannot be changed.",
    });
    this.target = field({
      name: "target", label: "Target, in percent", where: "target", value: "90", inputmode: "decimal",
    });
    this.more = advanced();
    this.kinds = h("div", { class: "kinds", role: "radiogroup", "aria-labelledby": "menu-title" },
      KINDS.map((one, place) => this.kind(one, place === 0)));
    this.menu = h("div", { class: "fields" });
    this.error = h("div", {
      class: "error box", "data-test": "make-error", role: "alert", tabindex: "-1", hidden: true,
    });
    this.submit = h("button", { type: "submit", class: "button strong", "data-test": "submit" }, "Make it");
    this.plan = copyable("JSON", "the plan as JSON", "");
    this.line = copyable("Shell", "the line that makes it", "");
    this.turn("options");
    fill(page,
      h("div", { class: "head" },
        h("div", {}, h("h1", { tabindex: "-1" }, "New selector"), h("p", { class: "summary" }, SAID))),
      this.presets(), this.build());
  }

  build() {
    const changed = ({ target }) => {
      this.mended(target);
      this.preview();
    };
    this.advanced = h("details", { class: "card" },
      h("summary", {}, h("h2", {}, "Advanced")),
      h("div", { class: "fields" }, Object.values(this.more).map((one) => one.whole)));
    const acts = { oninput: changed, onchange: changed, onsubmit: (event) => this.send(event) };
    return h("form", { class: "make", "data-test": "make", novalidate: true, ...acts },
      h("div", { class: "make-form" },
        h("div", { class: "card" },
          h("h2", {}, "The promise"),
          h("div", { class: "fields" }, this.name.whole, this.target.whole)),
        h("div", { class: "card" }, h("h2", { id: "menu-title" }, "The menu"), this.kinds, this.menu),
        this.advanced,
        this.error,
        h("div", { class: "actions" }, this.submit, h("a", { class: "button quiet", href: "#/" }, "Leave it"))),
      h("aside", { class: "make-side", "aria-label": "Preview" },
        h("div", { class: "card", "data-test": "preview" },
          h("h2", {}, "The plan"), this.plan.whole, this.line.whole)));
  }

  presets() {
    const button = (preset) =>
      h("button", { type: "button", class: "preset", "data-test": "preset", onclick: () => this.take(preset) },
        h("b", {}, preset.title), h("span", { class: "soft" }, preset.said));
    return h("div", { class: "presets", role: "group", "aria-label": "Begin from an example" }, PRESETS.map(button));
  }

  kind([kind, title, said], checked) {
    return h("label", { class: "kind" },
      h("input", { type: "radio", name: "kind", value: kind, checked, onchange: () => this.turn(kind) }),
      h("span", { class: "kind-text" }, h("b", {}, title), h("span", { class: "soft" }, said)));
  }

  /** Another kind of menu. */
  turn(kind, start) {
    this.form = formOf(kind, () => this.preview(), start);
    fill(this.menu, this.form.parts.map((part) => part.whole));
    this.preview();
  }

  take(preset) {
    this.name.input.value = preset.name;
    this.target.input.value = preset.target;
    this.more.expire_after.input.value = preset.expire_after;
    this.kinds.querySelector(`[value=${preset.kind}]`).checked = true;
    this.turn(preset.kind, preset.start);
    this.blame([]);
    announce(`Filled in: ${preset.title}`);
  }

  /** The body of the request, only with what differs from the defaults. */
  body() {
    const { more } = this;
    const menu = this.form.menu();
    const sure = share(more.safe_success.text);
    if (sure !== 1 && sure !== null) menu.safe_success = sure;
    const body = { menu, target: share(this.target.text) };
    for (const [name, usual] of [["max_debt", "5"], ["in_flight", "200"], ["max_surplus", ""], ["expire_after", ""]]) {
      if (more[name].text !== usual) body[name] = numeric(more[name].text);
    }
    if (more.model.on) body.model = "auto";
    return body;
  }

  preview() {
    const body = this.body();
    say(this.plan.pre, json(body));
    say(this.line.pre, curl("PUT", new URL(at(this.name.text || "NAME"), ROOT).href, body, hasKey()));
    const small = typeof body.target === "number" && body.target > 0 && body.target <= 0.01;
    const meant = `That is ${this.target.text}%. Did you mean ${100 * Number(this.target.text)}%?`;
    say(this.target.hinted, small ? meant : "Of all outcomes so far, at least this share succeeds.");
    mark(this.target.hinted, "data-doubt", small);
  }

  async send(event) {
    event.preventDefault();
    this.blame([]);
    const name = this.name.text;
    if (!NAME.test(name)) {
      this.blame([{ where: "name", problem: name ? `${NAMED}, got “${name}”` : "must not be empty" }]);
      return;
    }
    const body = this.body();
    if (this.form.unclear?.()) {
      this.menu.querySelector("input").focus();
      return;
    }
    this.submit.disabled = true;
    try {
      // The same plan again is no error: show the existing selector.
      await call("PUT", at(name), { body, signal: this.signal });
      location.hash = `#/selectors/${encodeURIComponent(name)}`;
    } catch (error) {
      if (this.signal.aborted) return;
      this.submit.disabled = error instanceof Problem && error.status === 403;
      this.blame(faults(error));
    }
  }

  /** The service expects a share, the form shows percent. */
  inPercent(problem) {
    const typed = this.target.text.replace(/%$/, "");
    return Number.isFinite(this.body().target) ? `${problem}, which is ${typed}%` : problem;
  }

  fields() {
    return [this.name, this.target, ...this.form.parts, ...Object.values(this.more)].filter((one) => one.wrong);
  }

  /** An error of a field does not apply to its new value. */
  mended(input) {
    this.fields().find((one) => one.whole.contains(input))?.wrong("");
    if (!this.submit.disabled) this.error.hidden = true;
  }

  /** Show each error beside its field; above the button, errors of no field. */
  blame(errors) {
    const fields = this.fields();
    for (const one of fields) one.wrong("");
    const said = new Map(); // by field, or null
    for (const error of errors) {
      const found = fields.find((one) => one.where && within(error.where, one.where));
      const { where, whole } = error;
      const problem = where === "target" && !whole ? this.inPercent(error.problem) : error.problem;
      const placed = whole || !where || found?.where === where || problem.startsWith(where);
      said.set(found, [...(said.get(found) ?? []), placed ? problem : `${where} ${problem}`]);
    }
    const rest = said.get(undefined) ?? [];
    this.error.hidden = rest.length === 0;
    fill(this.error, rest.length === 1 ? h("p", {}, rest[0]) : h("ul", {}, rest.map((text) => h("li", {}, text))));
    const wrong = fields.filter((one) => said.has(one));
    for (const one of wrong) one.wrong(said.get(one).join("; "));
    if (wrong.some((one) => this.advanced.contains(one.whole))) this.advanced.open = true;
    if (errors.length) (wrong[0]?.whole.querySelector("input, button") ?? this.error).focus();
  }
}

function advanced() {
  return {
    max_debt: field({
      name: "max_debt", label: "Behind by at most", where: "max_debt", value: "5", inputmode: "decimal",
      hint: "Successes owed among what was reported. 0: never behind, which costs more at first.",
    }),
    in_flight: field({
      name: "in_flight", label: "In flight", where: "in_flight", value: "200", inputmode: "numeric",
      hint: "Asks per second times the seconds until an outcome is told, and room. Beyond it, the safe option is issued.",
    }),
    max_surplus: field({
      name: "max_surplus", label: "Largest surplus", where: "max_surplus", inputmode: "decimal",
      hint: "The most successes that may be banked. Empty: √outcomes, at most 40.",
    }),
    expire_after: field({
      name: "expire_after", label: "Expires after, in seconds", where: "expire_after", inputmode: "decimal",
      hint: "Then no answer counts as a failure. Empty: never.",
    }),
    safe_success: field({
      name: "safe_success", label: "The safe option succeeds, in percent", where: "menu.safe_success",
      value: "100", inputmode: "decimal", hint: "Less than 100 where your best option is good, not perfect.",
    }),
    model: check({ name: "model", label: "A model looks at the context of each ask", where: "model" }),
  };
}

/** Whether a place in the body belongs to this field. */
const within = (where, field) => where === field || where.startsWith(`${field}.`) || where.startsWith(`${field}[`);

/** The errors of a refusal by place; as a whole if it names no place. */
function faults(error) {
  if (error instanceof Problem && error.errors.length) return error.errors;
  const problem = error instanceof Offline ? "The server cannot be reached just now." : error.message;
  return [{ where: error.status === 409 ? "name" : "", problem, whole: true }];
}

/** A percentage as a share; a fraction such as 2/3 is a share already. */
function share(text) {
  if (text === "") return null;
  if (text.includes("/")) return text;
  const value = Number(text.replace(/%$/, ""));
  return Number.isNaN(value) ? text : Number((value / 100).toPrecision(12));
}
