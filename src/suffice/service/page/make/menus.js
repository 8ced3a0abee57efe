// The six kinds of menu: what is asked for each, and the menu that it becomes.

import { Pairs, check, field, listed, listedTexts, numeric } from "./fields.js";

export const KINDS = [
  ["options", "Options", "anything you can list"],
  ["top_k", "Top k", "how many of the best results"],
  ["thresholds", "Thresholds", "one threshold"],
  ["grid", "Grid", "several thresholds at once"],
  ["intervals", "Intervals", "an interval from 0 to 1"],
  ["subsets", "Subsets", "which models, APIs or sensors"],
];

// Most answer every request: who may refuse says so.
const skip = (label) => check({ name: "nothing", label, where: "menu.nothing" });
const most = (value = "1") => field({
  name: "max_cost", label: "Everything costs", where: "menu.max_cost", value, inputmode: "decimal",
  hint: "No option costs more.",
});

const FORMS = {
  options(onchange, start) {
    const rows = new Pairs({
      title: "Options", first: "Option", second: "Cost", add: "Add an option", where: "menu.options", onchange,
      rows: start.options ?? [["small", "0.1"], ["large", "0.4"]],
    });
    const told = check({ name: "told", label: "Costs are not known: each outcome tells its cost" });
    told.input.addEventListener("change", () => rows.limit(told.on));
    const everything = field({
      name: "everything", label: "Everything", where: "menu.everything", value: start.everything ?? "a person",
      hint: "The option that is sure to succeed.",
    });
    const cost = most(start.max_cost);
    const nothing = field({
      name: "nothing", label: "Nothing", where: "menu.nothing", value: start.nothing ?? "",
      hint: "Only where you may refuse, such as skip: it costs nothing and never succeeds.",
    });
    const chain = check({
      name: "contains", label: "Each option works whenever an earlier one does", where: "menu.contains",
      checked: start.chain ?? false,
    });
    return {
      parts: [rows, told, everything, cost, nothing, chain],
      menu: () => {
        const some = told.on ? { options: rows.pairs.map(([name]) => name) } : priced(rows.pairs);
        return {
          kind: "options", ...some, everything: everything.text, ...(nothing.text ? { nothing: nothing.text } : {}),
          ...costing(cost), ...(chain.on ? { contains: "chain" } : {}),
        };
      },
      unclear: () => rows.twice(),
    };
  },
  top_k(onchange, start) {
    const ks = field({
      name: "ks", label: "How many may be shown", where: "menu.ks", value: start.ks ?? "5, 10, 20, 50",
      hint: "Whole numbers, separated by commas.", wide: true,
    });
    const classes = field({
      name: "classes", label: "How many there are", where: "menu.classes", value: start.classes ?? "100",
      inputmode: "numeric", hint: "Showing all of them is everything, and costs 1.",
    });
    const nothing = skip("One may show none");
    return {
      parts: [ks, classes, nothing],
      menu: () => ({ kind: "top_k", ks: listed(ks.text), classes: numeric(classes.text), ...without(nothing) }),
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
    const nothing = skip("The lowest may be played");
    return {
      parts: [low, high, step, cost, nothing],
      menu: () => ({
        kind: "thresholds", low: numeric(low.text), high: numeric(high.text), step: numeric(step.text),
        ...costing(cost), ...without(nothing),
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
    const nothing = skip("There is a way to skip");
    return {
      parts: [rows, cost, nothing],
      menu: () => {
        const axes = Object.fromEntries(rows.pairs.map(([name, values]) => [name, listedTexts(values)]));
        return { kind: "grid", axes, ...costing(cost), ...without(nothing) };
      },
      unclear: () => rows.twice(),
    };
  },
  intervals() {
    const step = field({
      name: "step", label: "Step", where: "menu.step", value: "0.05", inputmode: "decimal",
      hint: "Of the grid on [0, 1]; it must divide 1. An interval costs its length.",
    });
    const nothing = skip("There is a way to skip");
    return {
      parts: [step, nothing],
      menu: () => ({ kind: "intervals", step: numeric(step.text), ...without(nothing) }),
    };
  },
  subsets(onchange, start) {
    const rows = new Pairs({
      title: "Items", first: "Item", second: "Price", add: "Add an item", where: "menu.prices", onchange,
      rows: start.prices ?? [["small", "1"], ["large", "4"]],
    });
    const everything = field({
      name: "everything", label: "Everything", where: "menu.everything", value: start.everything ?? "a person",
      hint: "What is sure to succeed. Empty: all items together.",
    });
    const cost = field({
      name: "everything_cost", label: "Everything costs", where: "menu.everything_cost",
      value: start.everything_cost ?? "15", inputmode: "decimal",
    });
    const some = field({
      name: "at_most", label: "At most so many at once", where: "menu.at_most", value: "", inputmode: "numeric",
      hint: "Empty: any number of them.",
    });
    const nothing = skip("One may use none");
    return {
      parts: [rows, everything, cost, some, nothing],
      menu: () => ({
        kind: "subsets", prices: Object.fromEntries(rows.pairs.map(([name, price]) => [name, numeric(price)])),
        ...(everything.text ? { everything: everything.text } : {}),
        ...(cost.text ? { everything_cost: numeric(cost.text) } : {}),
        ...(some.text ? { at_most: numeric(some.text) } : {}),
        ...without(nothing),
      }),
      unclear: () => rows.twice(),
    };
  },
};

/** Options and their costs. An object would put names that are numbers into an order of its own. */
function priced(pairs) {
  const names = pairs.map(([name]) => name);
  const costs = pairs.map(([, cost]) => numeric(cost));
  if (names.some((name) => /^\d+$/.test(name))) return { options: names, costs };
  return { options: Object.fromEntries(names.map((name, place) => [name, costs[place]])) };
}

const without = (nothing) => (nothing.on ? {} : { nothing: false });
const costing = (cost) => (numeric(cost.text) === 1 ? {} : { max_cost: numeric(cost.text) });

/** The form of a kind of menu, filled with `start`. */
export const formOf = (kind, onchange, start = {}) => FORMS[kind](onchange, start);
