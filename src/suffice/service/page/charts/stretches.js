// Stretches of time for charts: joined until each has enough outcomes; their times and gaps; and the ranges of axes.

import { now } from "../words.js";

const LEAST = 20; // outcomes that a stretch needs for a rate
const STRETCHES = 100; // stretches of a rate at most
const LONGEST = 1 / 50; // of the whole time: the longest stretch with enough outcomes
const GAP = 1 / 25; // of the whole time: a longer time without outcomes is a gap

/** What all drawings of a selector share. */
export function setting(known, history, ends) {
  const fine = history.bins;
  const told = fine.at(-1)?.total ?? known.outcomes;
  const span = fine.length ? [fine[0].start, ended(fine.at(-1))] : null;
  return { known, ends, options: history.options ?? {}, fine, coarse: gather(fine), told, span };
}

/** Stretches joined to their neighbours until each has enough outcomes for a rate. */
function gather(bins) {
  const least = Math.max(LEAST, bins.reduce((sum, bin) => sum + bin.outcomes, 0) / STRETCHES);
  const whole = bins.length ? bins.at(-1).end - bins[0].start : 0;
  const long = (one, next) => next.end - one.start > LONGEST * whole;
  const found = [];
  for (const bin of bins) {
    const last = found.at(-1);
    if (last && (last.outcomes < LEAST || (last.outcomes < least && !long(last, bin)))) {
      found[found.length - 1] = joined(last, bin);
    } else found.push(bin);
  }
  if (found.length > 1 && found.at(-1).outcomes < LEAST / 2) {
    const end = found.pop();
    found[found.length - 1] = joined(found.at(-1), end);
  }
  return found;
}

/** Join two stretches: counts add up, and states at the end are those of the later one. */
function joined(one, next) {
  const arms = { ...one.arms };
  for (const [arm, many] of Object.entries(next.arms)) arms[arm] = (arms[arm] ?? 0) + many;
  const told = one.outcomes + next.outcomes;
  const successes = one.successes + next.successes;
  const cost = one.cost + next.cost;
  return {
    ...next, start: one.start, outcomes: told, successes, cost, arms, price: next.price ?? one.price,
    rate: told && successes <= told ? successes / told : null, mean_cost: told && cost >= 0 ? cost / told : null,
  };
}

const middle = (bin) => (bin.start + bin.end) / 2;

/** The end of a stretch, or now if it is not over. */
const ended = (bin) => Math.max(middle(bin), Math.min(bin.end, now()));

/** The time of each stretch: its middle, but the start of the first and the end of the last. */
export function times(bins) {
  const last = bins.length - 1;
  return bins.map((bin, at) => (at === 0 && last > 0 ? bin.start : at === last ? ended(bin) : middle(bin)));
}

/** The gaps: long times without outcomes, where no rate is drawn. */
export function gaps(bins) {
  if (bins.length < 2) return [];
  const least = GAP * (bins.at(-1).end - bins[0].start);
  const pairs = bins.slice(1).map((bin, at) => [bins[at].end, bin.start]);
  return pairs.filter(([from, to]) => to - from > least);
}

/** The range of some values with a margin, at least so wide, and within limits. */
export function padded(values, least, floor = -Infinity, ceiling = Infinity) {
  const some = values.filter((value) => Number.isFinite(value));
  const low = Math.min(...some);
  const high = Math.max(...some);
  const room = Math.max(0.08 * (high - low), (least - (high - low)) / 2, 1e-9);
  const bottom = Math.max(floor, low - room);
  // A little above the limit, so that a line along it is visible.
  return [bottom, Math.min(ceiling + 0.02 * (Math.min(high, ceiling) - bottom), high + room)];
}

/** A mark of an axis in percent, with enough digits to differ from the other marks. */
export function axisPercent(value, marks) {
  if (value > 1 + 1e-9) return "";
  const whole = (digits) => marks.every((mark) => {
    const shown = 100 * mark * 10 ** digits;
    return Math.abs(shown - Math.round(shown)) < 1e-6;
  });
  return `${(100 * value).toFixed([0, 1, 2].find(whole) ?? 3)}%`;
}
