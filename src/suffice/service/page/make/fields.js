// The fields of the form. Each knows its part of the plan, so that a problem is shown beside it.

import { h, mark, say } from "../dom.js";
import { icon } from "../parts.js";

let made = 0;

/** A labelled input. `where`: the place in the body, as errors of the service name it. */
export function field({ name, label, where, value = "", hint, type = "text", wide = false, ...more }) {
  const id = `f${(made += 1)}`;
  const input = h("input", {
    id, name, type, value, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-hint ${id}-error`,
    ...more,
  });
  const hinted = h("span", { class: "hint", id: `${id}-hint` }, hint ?? "");
  const wrong = h("span", { class: "error", id: `${id}-error`, hidden: true });
  const whole = h("div", { class: wide ? "field wide" : "field" },
    h("label", { class: "label", for: id }, label), input, hinted, wrong);
  return {
    whole, input, hinted, where, wrong: (text) => blame(input, wrong, text),
    get text() { return input.value.trim(); },
  };
}

function blame(input, wrong, text) {
  say(wrong, text);
  wrong.hidden = !text;
  mark(input, "aria-invalid", text ? "true" : null);
}

/** A checkbox. */
export function check({ name, label, checked = false, where }) {
  const input = h("input", { type: "checkbox", name, checked });
  const whole = h("label", { class: "check" }, input, h("span", {}, label));
  return {
    whole, input, where,
    get on() { return input.checked; },
  };
}

/** Rows of a name and a value; rows can be added. */
export class Pairs {
  constructor({ title, first, second, add, where, rows, onchange, secondType = "number" }) {
    Object.assign(this, { first, second, where, onchange, secondType });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.list = h("ul", { class: "pairs" });
    this.whole = h("fieldset", { class: "pairs-set wide" }, h("legend", { class: "label" }, title),
      h("div", { class: "pairs-head", "aria-hidden": "true" }, h("span", {}, first), h("span", {}, second)),
      this.list, this.error,
      h("button", { type: "button", class: "button small", onclick: () => this.more() }, icon("plus"), add));
    for (const [one, other] of rows) this.row(one, other);
  }

  row(one, other) {
    const name = h("input", { value: one, "aria-label": this.first, autocomplete: "off", spellcheck: "false" });
    const value = h("input", {
      value: other, "aria-label": this.second, type: this.secondType, min: "0", step: "any",
      inputmode: this.secondType === "number" ? "decimal" : "text", autocomplete: "off", spellcheck: "false",
    });
    const away = h("button", {
      type: "button", class: "icon-button", "aria-label": "Take this row away",
    }, icon("cross"));
    const row = h("li", {}, name, value, away);
    away.addEventListener("click", () => {
      row.remove();
      this.onchange();
      (this.list.querySelector("input") ?? this.whole.querySelector("button")).focus();
    });
    this.list.append(row);
    return name;
  }

  more() {
    this.row("", "").focus();
    this.onchange();
  }

  /** The rows that are not empty. */
  get pairs() {
    const typed = (row) => [...row.querySelectorAll("input")].map((input) => input.value.trim());
    return [...this.list.children].map(typed).filter(([one, other]) => one || other);
  }

  /** Whether a name is listed twice; if so, an error is shown. */
  twice() {
    const names = this.pairs.map(([name]) => name);
    const found = names.find((name, place) => names.indexOf(name) < place);
    this.wrong(found === undefined ? "" : `${found} is listed twice.`);
    return found !== undefined;
  }

  /** Whether the values are used: costs that are told with outcomes are not known here, but that of one row is. */
  limit(off, except) {
    for (const row of this.list.children) {
      const [name, value] = row.querySelectorAll("input");
      value.disabled = off && name.value.trim() !== except;
    }
  }

  wrong(text) {
    say(this.error, text);
    this.error.hidden = !text;
  }
}

/** The number that was typed, or the text if it is no number: then the service explains the error. */
export function numeric(text) {
  if (text === "") return null;
  const value = Number(text);
  return Number.isNaN(value) ? text : value;
}

/** A list, separated by commas. */
export const listed = (text) => text.split(/[,;\s]+/).filter(Boolean).map(numeric);
export const listedTexts = (text) => text.split(/[,;]+/).map((part) => part.trim()).filter(Boolean).map(numeric);
