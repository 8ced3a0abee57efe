// The page: the view for each address, and the frame around the views.

import { Locked, Problem } from "./api.js";
import { announce, fill, h, mark } from "./dom.js";
import * as keys from "./keys.js";
import * as live from "./live.js";
import { icon } from "./parts.js";
import { sentence } from "./words.js";

const ROUTES = [
  { form: /^#?\/?$/, name: "list", load: () => import("./list.js") },
  { form: /^#\/new$/, name: "new", load: () => import("./make/view.js") },
  { form: /^#\/selectors\/([^/?]+)$/, name: "selector", load: () => import("./selector/view.js") },
];

const main = document.getElementById("main");
let leave = new AbortController();
let first = true;

async function show() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const found = ROUTES.map((route) => ({ route, match: route.form.exec(location.hash) })).find(({ match }) => match);
  const name = found?.route.name ?? "";
  for (const link of document.querySelectorAll("[data-route]")) {
    mark(link, "aria-current", link.dataset.route === name ? "page" : null);
  }
  const page = h("div", { class: `page page-${name}` });
  fill(main, page);
  scrollTo(0, 0);
  try {
    if (!found) return nowhere(page);
    const { view } = await found.route.load();
    if (signal.aborted) return;
    await view(page, signal, ready, ...found.match.slice(1).map(decode));
  } catch (error) {
    if (!signal.aborted) failed(page, error);
  }
}

/** A view has its first data: set the title, and the focus after navigation. */
function ready(title) {
  document.title = title ? `${title} · suffice` : "suffice";
  document.body.dataset.ready = "true";
  if (!first) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    announce(title || "Selectors");
  }
  first = false;
}

function nowhere(page) {
  fill(page, h("h1", { tabindex: "-1" }, "There is nothing here"), h("p", {}, h("a", { href: "#/" }, "All selectors")));
  ready("Nothing here");
}

function failed(page, error) {
  if (error instanceof Locked) {
    const open = () => show();
    fill(page, h("div", { class: "empty", "data-test": "locked" },
      h("h1", { tabindex: "-1" }, "This server wants a key"),
      h("p", { class: "soft" }, "Nothing can be shown without one."),
      h("button", { type: "button", class: "button strong", onclick: open }, "Enter a key")));
    live.connection("off");
    return ready("A key is wanted");
  }
  const missing = error instanceof Problem && error.status === 404 && error.ours;
  fill(page, h("div", { class: "empty", "data-test": missing ? "missing" : "failed" },
    h("h1", { tabindex: "-1" }, missing ? "There is no such selector" : "That did not work"),
    h("p", { class: "soft" }, sentence(error.message)),
    h("p", { class: "actions" },
      !missing && h("button", { type: "button", class: "button strong", onclick: () => show() }, "Try again"),
      h("a", { class: "button", href: "#/" }, "All selectors"))));
  live.connection(missing ? "live" : "off");
  if (!(error instanceof Problem)) console.error(error);
  return ready(missing ? "No such selector" : "Failed");
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function theme() {
  const button = document.getElementById("theme");
  const other = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  const draw = () => {
    fill(button, icon(other() === "dark" ? "moon" : "sun"));
    mark(button, "aria-label", `Use ${other()} colours`);
  };
  button.addEventListener("click", () => document.dispatchEvent(new CustomEvent("themechoice", { detail: other() })));
  document.addEventListener("themechange", draw);
  draw();
}

// The link must not change the address, which selects the view.
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

theme();
keys.begin();
live.begin();
addEventListener("hashchange", show);
show();
