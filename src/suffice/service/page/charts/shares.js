// Which options are chosen: shares over time, one on the other, from the skip option at the bottom to the safe option
// at the top.

import { option, percent } from "../words.js";
import { axisPercent, gaps, times } from "./stretches.js";

const PICKED = 6; // options with a colour of their own
const LONGEST = 40; // characters of a name in a legend

export function shares({ ends, options, coarse, told, span }) {
  const layers = layersOf(coarse, ends, options);
  const parts = coarse.map((bin) => partsOf(bin, layers));
  const last = parts.at(-1) ?? [];
  const most = last.indexOf(Math.max(...last));
  return {
    told, span, times: times(coarse), gaps: gaps(coarse), range: [0, 1], write: axisPercent, say: percent,
    summary: most < 0
      ? "Which options were played."
      : `Played most of late: ${layers[most].label}, ${percent(Math.round(100 * last[most]) / 100)}.`,
    // The highest layer is painted first, and the others over it.
    lines: layers.map((layer, place) => ({
      label: layer.label, colour: "card", fill: layer.colour, solid: true, width: 1, point: false, broken: true,
      values: parts.map((part) => part.slice(0, place + 1).reduce((sum, value) => sum + value, 0)),
      at: (at) => (parts[at] ? percent(parts[at][place]) : "–"),
    })).reverse(),
  };
}

/** The layers: the skip and the safe option, the options played most, and the others together. */
function layersOf(bins, ends, options) {
  const totals = new Map();
  for (const bin of bins) {
    for (const [arm, many] of Object.entries(bin.arms)) totals.set(arm, (totals.get(arm) ?? 0) + many);
  }
  const skip = ends.skip === null ? null : String(ends.skip);
  const safe = String(ends.safe);
  const inside = [...totals].filter(([arm]) => arm !== "others" && arm !== skip && arm !== safe);
  const picked = inside.sort((a, b) => b[1] - a[1]).slice(0, PICKED).map(([arm]) => arm).sort((a, b) => a - b);
  const found = picked.map((arm, place) => {
    const shade = 1 + Math.round(((place + 0.5) * (PICKED - 1)) / picked.length);
    return { arm, label: called(options, arm), colour: `share-${shade}` };
  });
  if (totals.has(skip)) {
    found.unshift({ arm: skip, label: `${called(options, skip)} (skip)`, colour: "share-skip" });
  }
  if (inside.length > picked.length || totals.has("others")) {
    found.push({ arm: null, label: "others", colour: "share-others" });
  }
  if (totals.has(safe)) {
    found.push({ arm: safe, label: `${called(options, safe)} (safe)`, colour: "share-safe" });
  }
  return found;
}

/** The share of each layer in a stretch. */
function partsOf(bin, layers) {
  const every = Object.values(bin.arms).reduce((sum, many) => sum + many, 0) || 1;
  const own = layers.map((layer) => (layer.arm === null ? 0 : (bin.arms[layer.arm] ?? 0) / every));
  const rest = layers.findIndex((layer) => layer.arm === null);
  if (rest >= 0) own[rest] = Math.max(0, 1 - own.reduce((sum, value) => sum + value, 0));
  return own;
}

function called(options, arm) {
  const text = arm in options ? option(options[arm]) : `arm ${arm}`;
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 2)}…` : text;
}
