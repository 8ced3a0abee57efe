// A decision that was asked by hand and has no outcome yet.

import { Problem } from "../api.js";
import { h, say } from "../dom.js";
import { option, sentence } from "../words.js";

/** A row: the decision, and the possible outcomes. `told`: the costs are unknown, so the outcome must state them. */
export function askedRow(one, told, { tell, cancel, forget }) {
  const costly = told && !one.safe;
  const cost = numberField("cost", costly ? "Cost" : "Cost, if it differs", { min: "0" });
  const success = numberField("success", "Success, 0 to 1", { min: "0", max: "1", value: "0.5" });
  const send = (how) => tell(row, one, how(), cost.input.value.trim());
  const button = (name, kind, text, how) =>
    h("button", { type: "button", class: `button ${kind}`, "data-test": name, onclick: () => send(how) }, text);
  const leave = h("button", { type: "button", class: "button quiet small", hidden: true, onclick: () => forget(one) },
    "Take away");
  const wrong = h("p", { class: "error", role: "alert", hidden: true });
  leave.hidden = !one.skip;
  // Made only where they are shown: "Take away" can stand in one place.
  const outcomes = () => [
    h("div", { class: "actions" },
      button("worked", "good", "It worked", () => true), button("failed", "bad", "It failed", () => false),
      costly && cost.whole,
      h("button", {
        type: "button", class: "button quiet small", "data-test": "cancel-asked", onclick: () => cancel(row, one),
      }, "Cancel"),
      leave),
    h("details", {},
      h("summary", {}, "In between"),
      h("div", { class: "actions" },
        success.whole, !costly && cost.whole, button("tell", "small", "Tell", () => Number(success.input.value)))),
  ];
  const skipped = () =>
    h("div", { class: "actions" }, h("span", { class: "soft" }, "Counted as a failure already."), leave);
  const row = h("li", { "data-test": "asked", "data-decision": one.decision },
    title(one), one.skip ? skipped() : outcomes(), wrong);
  row.lock = (locked) => {
    wrong.hidden = true;
    for (const one of row.querySelectorAll("button")) one.disabled = locked;
    if (document.activeElement === document.body) row.querySelector("button").focus(); // locking took it away
  };
  row.fail = (error) => {
    // A decision that was told elsewhere or is unknown to the server cannot be told here.
    leave.hidden = !(error instanceof Problem && [404, 409, 410].includes(error.status));
    say(wrong, sentence(error.message));
    wrong.hidden = false;
  };
  return row;
}

function title(one) {
  const end = one.safe ? "safe" : one.skip ? "skip this one" : "";
  return h("div", { class: "asked-what" },
    h("span", { class: "soft" }, `Decision ${one.decision}`),
    h("b", { class: "option" }, option(one.option)),
    end && h("span", { class: "tag" }, end));
}

function numberField(name, label, more) {
  const input = h("input", { name, type: "number", step: "any", inputmode: "decimal", ...more });
  return { whole: h("label", { class: "field inline" }, h("span", { class: "label" }, label), input), input };
}
