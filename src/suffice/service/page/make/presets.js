// Example plans.

export const PRESETS = [
  {
    title: "Route to language models", said: "a cheap model, a dear one, then a person",
    name: "router", target: "90", expire_after: "3600", kind: "options",
    start: {
      options: [["small model", "0.02"], ["large model", "0.3"], ["a person", "1"]], safe: "a person",
    },
  },
  {
    title: "Show search results", said: "how many, so that the right one is among them",
    name: "search", target: "95", expire_after: "1800", kind: "top_k",
    start: { ks: "1, 3, 5, 10, 20, 50", classes: "100" },
  },
  {
    title: "Ping drivers", said: "how many, so that one accepts; else a car of your own",
    name: "drivers", target: "85", expire_after: "120", kind: "options",
    start: {
      options: [["1 driver", "0.05"], ["2 drivers", "0.1"], ["4 drivers", "0.2"], ["8 drivers", "0.4"],
        ["a car of your own", "1"]],
      safe: "a car of your own", chain: true,
    },
  },
];
