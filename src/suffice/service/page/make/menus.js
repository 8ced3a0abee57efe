// The six kinds of menu: the form of each, and the menu that it gives.

import { Pairs, check, field, listed, listedTexts, numeric } from "./fields.js";

export const KINDS = [
  ["options", "Options", "anything you can list"],
  ["top_k", "Top k", "how many of the best results"],
  ["thresholds", "Thresholds", "one threshold"],
  ["grid", "Grid", "several thresholds at once"],
  ["intervals", "Intervals", "an interval from 0 to 1"],
  ["subsets", "Subsets", "which models, APIs or sensors"],
];

// Most applications must answer every request, so there is no skip option by default.
const skipping = (label) => check({ name: "skip", label, where: "menu.skip" });
const most = (value = "1") => field({
  name: "safe_cost", label: "The safe option costs", where: "menu.safe_cost", value, inputmode: "decimal",
  hint: "No option costs more.",
});

const FORMS = {
  options(onchange, start) {
    const limited = () => {
      rows.limit(told.on, safe.text);
      onchange();
    };
    const rows = new Pairs({
      title: "Options", first: "Option", second: "Cost", add: "Add an option", where: "menu.options", onchange: limited,
      rows: start.options ?? [["small", "0.1"], ["large", "0.4"], ["a person", "1"]],
    });
    const told = check({ name: "told", label: "Only the safe option's cost is known: each outcome tells its cost" });
    const safe = field({
      name: "safe", label: "Safe option", where: "menu.safe", value: start.safe ?? "a person",
      hint: "Which of them is sure to succeed, however expensive. None costs more.",
    });
    for (const part of [told.input, safe.input]) part.addEventListener("input", () => rows.limit(told.on, safe.text));
    rows.whole.addEventListener("input", () => rows.limit(told.on, safe.text));
    const skip = field({
      name: "skip", label: "Skip option", where: "menu.skip", value: start.skip ?? "",
      hint: "Only where you may refuse: it costs nothing and counts as a failure. Empty: there is none.",
    });
    const chain = check({
      name: "order", label: "Each option works whenever an earlier one does", where: "menu.order",
      checked: start.chain ?? false,
    });
    const missing = () => !rows.pairs.some(([name]) => name === safe.text);
    return {
      parts: [rows, told, safe, skip, chain],
      menu: () => ({
        kind: "options", options: priced(rows.pairs, told.on, safe.text), safe: safe.text,
        ...(skip.text ? { skip: skip.text } : {}), ...(chain.on ? { order: "chain" } : {}),
      }),
      unclear: () => {
        safe.wrong(missing() ? "must be one of the options above" : "");
        return rows.twice() || missing();
      },
    };
  },
  top_k(onchange, start) {
    const ks = field({
      name: "ks", label: "How many may be shown", where: "menu.ks", value: start.ks ?? "5, 10, 20, 50",
      hint: "Whole numbers, separated by commas.", wide: true,
    });
    const classes = field({
      name: "classes", label: "How many there are", where: "menu.classes", value: start.classes ?? "100",
      inputmode: "numeric", hint: "Showing all of them is the safe option, and costs 1.",
    });
    const skip = skipping("One may show none");
    return {
      parts: [ks, classes, skip],
      menu: () => ({ kind: "top_k", ks: listed(ks.text), classes: numeric(classes.text), ...allowing(skip) }),
    };
  },
  thresholds() {
    const low = field({
      name: "low", label: "Lowest", where: "menu.low", value: "0", inputmode: "decimal", hint: "Lets nothing through.",
    });
    const high = field({
      name: "high", label: "Highest", where: "menu.high", value: "1", inputmode: "decimal",
      hint: "Lets everything through.",
    });
    const step = field({
      name: "step", label: "Step", where: "menu.step", value: "0.05", inputmode: "decimal",
      hint: "Of the grid between them.",
    });
    const cost = most();
    const skip = skipping("The lowest may be played");
    return {
      parts: [low, high, step, cost, skip],
      menu: () => ({
        kind: "thresholds", low: numeric(low.text), high: numeric(high.text), step: numeric(step.text),
        ...costing(cost), ...allowing(skip),
      }),
    };
  },
  grid(onchange, start) {
    const rows = new Pairs({
      title: "Axes, each from least to most permissive", first: "Axis", second: "Values, separated by commas",
      add: "Add an axis", where: "menu.axes", onchange,
      rows: start.axes ?? [["distance", "1, 2, 5, 50"], ["rating", "4.5, 4, 0"]], secondType: "text",
    });
    const cost = most();
    const skip = skipping("There is a way to skip");
    return {
      parts: [rows, cost, skip],
      menu: () => {
        const axes = Object.fromEntries(rows.pairs.map(([name, values]) => [name, listedTexts(values)]));
        return { kind: "grid", axes, ...costing(cost), ...allowing(skip) };
      },
      unclear: () => rows.twice(),
    };
  },
  intervals() {
    const step = field({
      name: "step", label: "Step", where: "menu.step", value: "0.05", inputmode: "decimal",
      hint: "Of the grid on [0, 1]; it must divide 1. An interval costs its length.",
    });
    const skip = skipping("There is a way to skip");
    return {
      parts: [step, skip],
      menu: () => ({ kind: "intervals", step: numeric(step.text), ...allowing(skip) }),
    };
  },
  subsets(onchange, start) {
    const rows = new Pairs({
      title: "Items", first: "Item", second: "Price", add: "Add an item", where: "menu.prices", onchange,
      rows: start.prices ?? [["small", "1"], ["large", "4"]],
    });
    const safe = field({
      name: "safe", label: "Safe option", where: "menu.safe", value: start.safe ?? "a person",
      hint: "What is sure to succeed. Empty: all items together.",
    });
    const cost = field({
      name: "safe_cost", label: "The safe option costs", where: "menu.safe_cost",
      value: start.safe_cost ?? "15", inputmode: "decimal",
    });
    const some = field({
      name: "at_most", label: "At most so many at once", where: "menu.at_most", value: "", inputmode: "numeric",
      hint: "Empty: any number of them.",
    });
    const skip = skipping("One may use none");
    return {
      parts: [rows, safe, cost, some, skip],
      menu: () => ({
        kind: "subsets", prices: Object.fromEntries(rows.pairs.map(([name, price]) => [name, numeric(price)])),
        ...(safe.text ? { safe: safe.text } : {}),
        ...(cost.text ? { safe_cost: numeric(cost.text) } : {}),
        ...(some.text ? { at_most: numeric(some.text) } : {}),
        ...allowing(skip),
      }),
      unclear: () => rows.twice(),
    };
  },
};

/** Options and their costs, null where each outcome tells it. An object would reorder names that are numbers. */
function priced(pairs, told, safe) {
  const costs = pairs.map(([name, cost]) => [name, told && name !== safe ? null : numeric(cost)]);
  if (costs.some(([name]) => /^\d+$/.test(name))) return costs.map(([option, cost]) => ({ option, cost }));
  return Object.fromEntries(costs);
}

const allowing = (skip) => (skip.on ? { skip: true } : {});
const costing = (cost) => ({ safe_cost: numeric(cost.text) });

/** The form of a kind of menu, filled with `start`. */
export const formOf = (kind, onchange, start = {}) => FORMS[kind](onchange, start);
