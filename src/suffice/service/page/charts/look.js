// The options of uPlot for a chart: axes, lines and bands in the colours of the style sheet.

import { ticks } from "../words.js";

const FONT = '11px -apple-system, BlinkMacSystemFont, "Segoe UI", Inter, Roboto, "Liberation Sans", Arial, sans-serif';
// Seconds between the marks of the time axis.
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000,
  7776000, 15552000, 31536000,
];
const SHORTEST = 4; // seconds that are shown at least, so that there is a mark

/** The current value of a colour of the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The options of uPlot. `drawn` returns the current drawing: values change more often than options. */
export function look(drawn, size, onCursor) {
  const { lines, bands = [] } = drawn();
  return {
    ...size,
    padding: [10, 22, 0, 0],
    legend: { show: false },
    cursor: cursor(drawn),
    scales: {
      // The same range for all charts of a selector. For a single moment uPlot would show years.
      x: { time: true, range: () => atLeast(drawn().span, SHORTEST) }, y: { range: () => drawn().range },
    },
    axes: axes(drawn),
    series: [{}, ...lines.map((line) => series(line, drawn))],
    bands: bands.map((band) => ({ series: band.series, fill: () => colour(band.fill) })),
    hooks: { setCursor: [onCursor], draw: [(u) => drawn().draw?.(u)] },
  };
}

function cursor(drawn) {
  const line = (at) => drawn().lines[at - 1];
  return {
    sync: { key: "time", setSeries: false }, // one cursor in all charts
    y: false,
    drag: { x: false, y: false, setScale: false },
    points: { size: 7, width: 2, stroke: (u, at) => colour(line(at)?.colour ?? "ink"), fill: () => colour("card") },
    dataIdx: (u, at, near) => (line(at)?.point === false ? null : near),
  };
}

function axes(drawn) {
  const grid = { stroke: () => colour("grid"), width: 1 };
  const both = { stroke: () => colour("soft"), font: FONT, ticks: { show: false }, gap: 6 };
  const time = (u, marks, place, space, every) => ticks(marks, every);
  const value = (u, marks) => marks.map((mark) => drawn().write(mark, marks));
  return [
    { ...both, size: 30, space: 80, grid: { show: false }, incrs: STEPS, values: time },
    { ...both, size: 52, space: 28, grid, values: value },
  ];
}

function series(line, drawn) {
  const paint = (name) => (name ? () => colour(name) : undefined);
  const place = (u) => (at) => u.valToPos(at, "x", true);
  return {
    label: line.label, stroke: paint(line.colour), fill: paint(line.fill), width: line.width ?? 2, dash: line.dash,
    spanGaps: !line.broken, gaps: (u) => (drawn().gaps ?? []).map((gap) => gap.map(place(u))), points: { show: false },
  };
}

/** The span, extended to so many seconds at least. */
const atLeast = ([from, to], length) => [from, Math.max(to, from + length)];
