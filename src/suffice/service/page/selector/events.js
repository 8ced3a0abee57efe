// What a person should know of a selector: its latest events, the newest first.

import { conceal, h, keyed, say } from "../dom.js";
import { section } from "../parts.js";
import { ago, count, cut, moment, plain } from "../words.js";

const FEWEST = 5; // events that are shown at first
const LONGEST = 60; // characters of a group's name

export class Events {
  constructor() {
    this.found = [];
    this.most = FEWEST;
    this.rows = h("ol", { class: "events" });
    this.button = h("button", { type: "button", class: "button small", hidden: true, onclick: () => this.showAll() }, "");
    const note = h("p", { class: "soft" }, "What a person should know, as this server noticed it. The newest first.");
    this.whole = section("Events", { class: "flush", "data-test": "events", hidden: true }, note, this.rows,
      h("p", { class: "center" }, this.button));
  }

  /** Show the events of a selector, the latest last; nothing where there are none. */
  set(found) {
    this.found = found;
    const shown = found.slice(-this.most).reverse();
    this.whole.hidden = found.length === 0;
    conceal(this.button, shown.length === found.length, this.whole);
    say(this.button, `Show all ${count(found.length)}`);
    keyed(this.rows, shown, (one) => JSON.stringify(one), makeEvent, setAge);
  }

  showAll() {
    this.most = Infinity;
    this.set(this.found);
  }

  /** Update the ages. */
  age() {
    for (const row of this.rows.children) setAge(row);
  }
}

function makeEvent({ at, kind, text, group }) {
  const when = h("time", { class: "soft", datetime: new Date(1000 * at).toISOString(), title: moment(at) });
  const of = group !== null && h("span", { class: "tag", title: plain(group) }, `group ${cut(plain(group), LONGEST)}`);
  const row = h("li", { "data-test": "event", "data-kind": kind }, when, h("p", {}, plain(text), of));
  row.at = at;
  return row;
}

const setAge = (row) => say(row.firstElementChild, ago(row.at));
