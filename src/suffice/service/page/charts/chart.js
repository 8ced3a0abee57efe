// One chart: a figure with a heading, a sentence, a legend that follows the cursor, and its values as a table.
//
// A `drawing` holds: times, their span and its gaps; lines, each with a label, values, a colour and perhaps a fill, a width,
// a dash; bands between two lines; the range of the axis; how its marks and values are written; a summary in words.

import { fill, h, mark, say } from "../dom.js";
import { NONE, moment } from "../words.js";
import { look } from "./look.js";
import { uplot } from "./uplot.js";

const MOST_ROWS = 60; // of a table of values

export class Chart {
  constructor({ name, title, tall = false }) {
    this.title = title;
    this.u = null;
    this.drawn = null;
    this.summary = h("p", { class: "chart-summary", id: `summary-${name}` }, "Loading …");
    this.legend = h("ul", { class: "legend", "aria-hidden": "true" }); // the summary and the table are the accessible form
    this.when = h("span", { class: "chart-when", "aria-hidden": "true" }); // the moment of the legend
    this.plot = h("div", {
      class: tall ? "plot tall" : "plot", tabindex: "0", role: "img", "aria-describedby": `summary-${name}`,
    });
    this.said = h("span", { class: "unseen", "aria-live": "polite" });
    this.values = h("div", {
      class: "values", tabindex: "0", role: "region", "aria-label": `${title}: table of values`,
    });
    this.details = h("details", { ontoggle: () => this.list() }, h("summary", {}, "Table of values"), this.values);
    const data = { "data-test": `chart-${name}`, "data-points": "0", "data-told": "0" };
    this.whole = h("figure", { class: tall ? "card chart chart-wide" : "card chart", ...data },
      h("figcaption", {}, h("h3", {}, title), this.when, this.summary),
      this.legend, this.plot, this.said, this.details);
    this.plot.addEventListener("keydown", (event) => this.step(event));
    this.plot.addEventListener("blur", () => this.u?.setCursor({ left: -10, top: -10 }));
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.plot);
  }

  /** Draw, or update the drawing. */
  async set(drawing) {
    this.drawn = drawing;
    const { times } = drawing;
    say(this.summary, drawing.summary);
    const keys = times.length > 1 ? " Arrow keys go through its values." : "";
    mark(this.plot, "aria-label", `${this.title}, chart.${keys}`);
    this.list();
    if (times.length) {
      const UPlot = await uplot();
      if (this.gone) return;
      this.draw(UPlot);
    } else this.empty(drawing.empty ?? "Nothing was told yet.");
    mark(this.whole, "data-points", times.length);
    mark(this.whole, "data-told", drawing.told);
  }

  draw(UPlot) {
    const { lines, times } = this.drawn;
    const data = [times, ...lines.map((line) => line.values)];
    if (times.length === 1) widen(data, this.drawn.span); // lines and areas need two points
    const shape = lines.map((line) => `${line.label}|${line.colour}|${line.fill}`).join("\n");
    if (this.shape === shape) this.u.setData(data);
    else {
      this.drop();
      fill(this.plot);
      this.shape = shape;
      this.show(); // the legend is laid out first
      this.u = new UPlot(look(() => this.drawn, this.size(), () => this.show()), data, this.plot);
    }
    this.show();
  }

  empty(text) {
    this.drop();
    fill(this.legend);
    if (this.plot.firstElementChild) say(this.plot.firstElementChild, text);
    else fill(this.plot, h("p", { class: "plot-empty" }, text));
  }

  size() {
    const { clientWidth, clientHeight } = this.plot;
    return { width: Math.max(120, Math.floor(clientWidth)), height: Math.max(120, Math.floor(clientHeight)) };
  }

  resize() {
    if (!this.u) return;
    const { width, height } = this.size();
    if (this.u.width !== width || this.u.height !== height) this.u.setSize({ width, height });
  }

  /** A line's value at a place, in words. */
  value(line, at) {
    if (line.at) return line.at(at);
    return line.values[at] === null || line.values[at] === undefined ? NONE : this.drawn.say(line.values[at]);
  }

  /** The legend, at the cursor or at the end. */
  show() {
    const last = this.drawn.times.length - 1;
    const pointed = this.u?.cursor.idx ?? null;
    const at = Math.min(last, pointed ?? last);
    say(this.when, pointed === null ? "" : moment(this.drawn.times[at]));
    const shown = this.drawn.lines.filter((line) => line.legend !== false);
    if (this.legend.children.length !== shown.length) {
      fill(this.legend, shown.map(() => h("li", {}, h("span", { class: "swatch" }), h("span", {}), h("b", {}))));
    }
    shown.forEach((line, place) => {
      const [swatch, label, value] = this.legend.children[place].children;
      swatch.style.setProperty("--swatch", `var(--${line.solid ? line.fill : line.colour})`);
      mark(swatch, "data-kind", line.solid || line.kind === "band" ? "area" : line.dash ? "dashed" : "line");
      say(label, line.label);
      say(value, this.value(line, at));
    });
  }

  /** Arrow keys move the cursor; the values there are announced. */
  step(event) {
    const { times, lines } = this.drawn ?? {};
    if (!this.u || !times.length) return;
    const here = this.u.cursor.idx ?? times.length - 1;
    const near = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: times.length - 1 }[event.key];
    if (near === undefined) return;
    event.preventDefault();
    const at = Math.min(times.length - 1, Math.max(0, near));
    this.u.setCursor({ left: this.u.valToPos(times[at], "x"), top: 10 });
    const all = lines.filter((line) => line.listed !== false).map((line) => `${line.label} ${this.value(line, at)}`);
    say(this.said, `${moment(times[at])}: ${all.join(", ")}`);
  }

  /** The table of values, filled only while it is open. */
  list() {
    if (!this.details.open || !this.drawn) return;
    const { times, lines } = this.drawn;
    const every = Math.ceil(times.length / MOST_ROWS);
    const picked = times.map((_, at) => at).filter((at) => (times.length - 1 - at) % every === 0).reverse();
    const listed = lines.filter((line) => line.listed !== false);
    const head = listed.map((line) => h("th", { scope: "col", class: "num" }, line.label));
    const cells = (at) => listed.map((line) => h("td", { class: "num" }, this.value(line, at)));
    fill(this.values, h("table", { class: "plain" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Time"), head)),
      h("tbody", {}, picked.map((at) => h("tr", {}, h("th", { scope: "row" }, moment(times[at])), cells(at))))));
  }

  redraw() {
    this.u?.redraw(false, true);
  }

  drop() {
    this.u?.destroy();
    this.u = null;
    this.shape = null;
  }

  close() {
    this.gone = true;
    this.watch.disconnect();
    this.drop();
  }
}

/** Extend a single value over its stretch. */
function widen(data, span) {
  const [, ...lines] = data;
  data.splice(0, data.length, span, ...lines.map(([value]) => [value, value]));
}
