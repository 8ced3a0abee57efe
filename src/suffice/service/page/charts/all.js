// The five charts of a selector, with one cursor and one choice of the period.

import { at, get } from "../api.js";
import { h } from "../dom.js";
import { now } from "../words.js";
import { Chart } from "./chart.js";
import { cost, debt, price, rate } from "./drawings.js";
import { shares } from "./shares.js";
import { setting } from "./stretches.js";

const RANGES = [["all", "All", null], ["day", "24 h", 86_400], ["hour", "1 h", 3_600], ["quarter", "15 min", 900]];

const paper = matchMedia("print"); // print has its own colours
const forced = matchMedia("(forced-colors: active)");
const FRESH = 60; // seconds after which the whole history is loaded again

export class Charts {
  constructor(onRange) {
    this.charts = {
      rate: new Chart({ name: "rate", title: "Success rate", tall: true }),
      debt: new Chart({ name: "debt", title: "Debt" }),
      cost: new Chart({ name: "cost", title: "Cost per decision" }),
      price: new Chart({ name: "price", title: "Price of a success" }),
      shares: new Chart({ name: "shares", title: "Options chosen" }),
    };
    this.since = null;
    this.kept = null; // the history that is shown
    const ranges = h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "How far back"),
      RANGES.map(([name, label, seconds]) => h("label", {},
        h("input", {
          type: "radio", name: "range", value: name, checked: seconds === null,
          onchange: () => {
            this.since = seconds;
            onRange();
          },
        }), h("span", {}, label))));
    const all = Object.values(this.charts);
    this.whole = h("section", { "aria-labelledby": "h-charts" },
      h("div", { class: "section-head" }, h("h2", { id: "h-charts" }, "Over time"), ranges),
      h("div", { class: "charts" }, all.map((chart) => chart.whole)));
    this.redraw = () => all.forEach((chart) => chart.redraw());
    document.addEventListener("themechange", this.redraw);
    paper.addEventListener("change", this.redraw);
    forced.addEventListener("change", this.redraw);
  }

  /** As many stretches as the width can show. */
  bins() {
    const width = this.charts.rate.plot.clientWidth || 600;
    return Math.max(40, Math.min(240, Math.round(width / 5)));
  }

  /** Milliseconds between two polls: long stretches change slowly. */
  every() {
    return Math.min(5_000, Math.max(1_000, 250 * (this.kept?.width ?? 0)));
  }

  /** Load the history: first the whole, then only the last stretches, which is cheap for the server. */
  async load(name, signal) {
    const from = this.since === null ? null : Math.floor(now() - this.since);
    const part = await this.loadLast(name, signal);
    if (part) return this.join(part, from);
    const history = await get(at(name, "history", { bins: this.bins(), since: from }), signal);
    this.kept = { ...history, since: this.since, asked: this.bins(), at: now() };
    return this.kept;
  }

  /** The query for the last stretches on the current grid; null to load the whole. */
  async loadLast(name, signal) {
    const { kept } = this;
    if (!kept || kept.since !== this.since || kept.bins.length < 2) return null;
    if (kept.bins.length > 1.5 * kept.asked || now() - kept.at > FRESH) return null;
    const part = await get(at(name, "history", { width: kept.width, since: kept.bins.at(-2).start + 0.001 }), signal);
    return part.finest === kept.finest && part.bins.length ? part : null;
  }

  join(part, from) {
    const before = this.kept.bins.filter(
      (bin) => bin.start < part.bins[0].start - part.width / 2 && (from === null || bin.end > from),
    );
    this.kept = { ...this.kept, bins: [...before, ...part.bins], options: { ...this.kept.options, ...part.options } };
    return this.kept;
  }

  async set(known, history, ends) {
    const all = setting(known, history, ends);
    const empty = this.since !== null && known.outcomes > 0 ? "Nothing was told in this time." : undefined;
    const drawings = { rate, debt, cost, price, shares };
    for (const [name, draw] of Object.entries(drawings)) await this.charts[name].set({ ...draw(all), empty });
  }

  close() {
    document.removeEventListener("themechange", this.redraw);
    paper.removeEventListener("change", this.redraw);
    forced.removeEventListener("change", this.redraw);
    for (const chart of Object.values(this.charts)) chart.close();
  }
}
