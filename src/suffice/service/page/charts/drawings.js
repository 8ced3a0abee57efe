// The drawings of rate, debt, cost and price. Bounds, rates and means come from the service.

import { money, number, owed, percent, sentence } from "../words.js";
import { colour } from "./look.js";
import { axisPercent, gaps, padded, times } from "./stretches.js";

const DASH = [5, 4];
const NEAR = 0.12; // a wider promised band is cut to this above the target

// --- the success rate

export function rate({ known, coarse, told, span }) {
  const { target } = known;
  const low = coarse.map((bin) => lowest(bin, target));
  const high = coarse.map((bin) => highest(bin, target));
  const each = coarse.map((bin) => bin.rate);
  const last = coarse.at(-1);
  const allowed = `The promise now allows ${percent(low.at(-1))} to ${percent(high.at(-1))}.`;
  return {
    told, span, times: times(coarse), gaps: gaps(coarse), range: rateRange(target, coarse, low, high, each),
    write: axisPercent, say: percent,
    summary: last
      ? `${percent(last.total_rate)} succeeded, where ${percent(target)} was promised. ${allowed}${singly(each)}`
      : `Target ${percent(target)}.`,
    lines: [
      {
        label: "Promised", values: high, colour: "band", kind: "band", width: 0, point: false,
        at: (at) => `${percent(low[at])} to ${percent(high[at])}`,
      },
      { label: "Lowest", values: low, colour: "band", width: 0, legend: false, listed: false, point: false },
      { label: "In each stretch", values: each, colour: "line-faint", width: 1.25, broken: true },
      { label: "Target", values: coarse.map(() => target), colour: "target", width: 1.5, dash: DASH, point: false },
      { label: "Success rate", values: coarse.map((bin) => bin.total_rate), colour: "accent", width: 2.5 },
    ],
    bands: [{ series: [1, 2], fill: "band" }],
  };
}

/** The lowest and highest single stretches, which the axis may cut. */
function singly(each) {
  const some = each.filter((value) => value !== null);
  const [low, high] = [percent(Math.min(...some)), percent(Math.max(...some))];
  return some.length < 2 || low === high ? "" : ` In single stretches between ${low} and ${high}.`;
}

// The bounds on successes owed, spread over all outcomes so far.
function lowest(bin, target) {
  return bin.debt_at_most === null || !bin.total ? null : Math.max(0, target - bin.debt_at_most / bin.total);
}

function highest(bin, target) {
  if (!bin.total) return null;
  return bin.ahead_at_most === null ? 1 : Math.min(1, target + bin.ahead_at_most / bin.total);
}

/** A range near the target. The first few outcomes are ignored, as their rate varies too much. */
function rateRange(target, bins, low, high, each) {
  const total = bins.at(-1)?.total ?? 0;
  const after = (many) => bins.map((_, at) => at).filter((at) => bins[at].total >= Math.min(total, many));
  const late = after(Math.max(30, 0.03 * total));
  const steady = late.map((at) => each[at]).filter((value) => value !== null).sort((a, b) => a - b);
  const part = (share) => steady[Math.min(steady.length - 1, Math.floor(share * steady.length))];
  const band = after(0.25 * total).flatMap((at) => [low[at], Math.min(high[at] ?? target, target + NEAR)]);
  const core = [target, ...late.map((at) => bins[at].total_rate), ...band].filter((value) => Number.isFinite(value));
  const [least, most] = [Math.min(...core), Math.max(...core)];
  const room = Math.max(0.02, most - least) / 2; // for single stretches, which are cut beyond it
  const single = [Math.max(least - room, part(0.04) ?? least), Math.min(most + room, part(0.96) ?? most)];
  return padded([...core, ...single], 0.02, 0, 1);
}

// --- the debt

export function debt({ fine, told, span }) {
  const values = fine.map((bin) => bin.debt);
  const above = fine.map((bin) => bin.debt_at_most);
  const below = fine.map((bin) => (bin.ahead_at_most === null ? null : -bin.ahead_at_most));
  const range = padded([...values, ...above, ...below.filter((value) => value !== null), 0], 2);
  const bounded = below.every((value) => value !== null);
  const least = bounded
    ? { label: "At least", values: below, colour: "line-faint", width: 1.25, point: false }
    : {
      label: "Any", values: below.map(() => range[0]), colour: "band", width: 0, legend: false, listed: false,
      point: false,
    };
  return {
    told, span, times: times(fine), range, write: (value) => number(value), say: number, summary: debtSaid(fine.at(-1)),
    lines: [
      { label: "At most", values: above, colour: "target", width: 1.5, dash: DASH, point: false },
      least,
      { label: "Debt", values, colour: "accent", width: 2.25 },
    ],
    bands: [{ series: [1, 2], fill: "band" }],
  };
}

function debtSaid(last) {
  if (!last) return "Successes owed: target · outcomes − successes.";
  const ahead = last.ahead_at_most === null ? "" : `, nor ahead by more than ${number(last.ahead_at_most)}`;
  const kept = last.debt <= last.debt_at_most ? "never" : "promised was never";
  return sentence(`${owed(last.debt)}; ${kept} behind by more than ${number(last.debt_at_most)}${ahead}`);
}

// --- the cost

export function cost({ known, coarse, told, span }) {
  const most = known.safe_cost;
  const values = coarse.map((bin) => bin.total_cost);
  return {
    told, span, times: times(coarse), gaps: gaps(coarse), range: [0, 1.06 * Math.max(most, ...values)],
    write: (value) => money(value), say: money, summary: costSaid(values.at(-1) ?? null, most),
    lines: [
      {
        label: "In each stretch", values: coarse.map((bin) => bin.mean_cost), colour: "line-faint", width: 1.25,
        broken: true,
      },
      {
        label: "Always the safe option", values: coarse.map(() => most), colour: "target", width: 1.5, dash: DASH,
        point: false,
      },
      { label: "Cost so far", values, colour: "accent", fill: "accent-fade", width: 2.5 },
    ],
  };
}

function costSaid(paid, most) {
  if (paid === null) return `Always playing the safe option would cost ${money(most)}.`;
  const saved = Math.round(100 * (1 - paid / most)) / 100;
  const said = saved > 0 ? `saved ${percent(saved)}` : "nothing saved yet";
  return `${money(paid)} a decision, where always playing the safe option costs ${money(most)}: ${said}.`;
}

// --- the price

export function price({ known, ends, fine, told, span }) {
  const { cap } = known;
  const values = fine.map((bin) => bin.price);
  const some = values.filter((value) => value !== null);
  const bottom = ends.skip === null ? "cheapest option" : "skip option";
  return {
    told, span, times: times(fine), range: [Math.min(-0.14 * cap, ...some), Math.max(1.14 * cap, ...some)],
    write: (value) => money(value), say: money, summary: priceSaid(known.price, cap, bottom),
    lines: [
      {
        label: "Safe option", values: fine.map(() => cap), colour: "target", width: 1.25, dash: DASH, point: false,
      },
      {
        label: `${bottom[0].toUpperCase()}${bottom.slice(1)}`, values: fine.map(() => 0), colour: "line-faint",
        width: 1.25, dash: DASH, point: false,
      },
      { label: "Price", values, colour: "accent", width: 2 },
    ],
    draw: (u) => zones(u, cap, bottom),
  };
}

/** The price now, and its scale. With groups, each has its own price, so none is stated. */
function priceSaid(price, cap, bottom) {
  const scale = `the scale runs from the ${bottom} (0) to the safe option (${money(cap)})`;
  return sentence((price ?? null) === null ? scale : `a success is worth ${money(price)} now; ${scale}`);
}

/** The labels of the two ends of the scale. */
function zones(u, cap, bottom) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  const top = u.valToPos(cap, "y", true);
  const zero = u.valToPos(0, "y", true);
  ctx.save();
  ctx.fillStyle = colour("zone");
  ctx.fillRect(bbox.left, bbox.top, bbox.width, Math.max(0, top - bbox.top));
  ctx.fillRect(bbox.left, zero, bbox.width, Math.max(0, bbox.top + bbox.height - zero));
  ctx.fillStyle = colour("soft");
  ctx.font = `${11 * ratio}px sans-serif`;
  ctx.textAlign = "right";
  const right = bbox.left + bbox.width - 6 * ratio;
  ctx.textBaseline = "bottom";
  ctx.fillText("safe option", right, top - 4 * ratio);
  ctx.textBaseline = "top";
  ctx.fillText(bottom, right, zero + 4 * ratio);
  ctx.restore();
}
