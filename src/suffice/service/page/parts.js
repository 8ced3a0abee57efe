// Small parts of several views: badges, icons, bars, text to copy, questions.

import { announce, h, mark, s, say } from "./dom.js";
import { count, percent } from "./words.js";

const ICONS = {
  kept: ["M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M5 8.2l2.1 2.1L11 6.2"],
  broken: ["M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8"],
  within: ["M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M5 6.4h6M5 9.6h6"],
  limit: ["M8 1.8l6.6 11.7H1.4z", "M8 6.2v3.4M8 11.6v.1"],
  unproven: [
    "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M6.2 6.2a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.8.7-.8 1.3M8 11.3v.1",
  ],
  infeasible: ["M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M3.6 12.4l8.8-8.8"],
  loading: ["M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z", "M8 4.6V8l2.2 1.6"],
  bug: ["M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z", "M8 4.6v4M8 11.2v.1"],
  archived: ["M2 2.5h12v3.2H2zM3 5.7v7.8h10V5.7", "M6.3 8.4h3.4"],
  sun: [
    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
    "M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13",
  ],
  moon: ["M13.5 9.6A6 6 0 1 1 6.4 2.5a4.8 4.8 0 0 0 7.1 7.1z"],
  plus: ["M8 3v10M3 8h10"],
  cross: ["M4 4l8 8M12 4l-8 8"],
  back: ["M9.5 3.5L5 8l4.5 4.5"],
  copy: ["M5.5 5.5h8v8h-8z", "M10.5 5.5v-3h-8v8h3"],
};

export const STATUS = {
  bug: "Bug", infeasible: "Cannot be met", broken: "Broken", unproven: "Unproven", within: "Within the limit",
  kept: "Kept", archived: "Archived",
};
const SUMMED = { bug: ["bug", "bugs"] };

/** A status with a count: 2 broken, 1 cannot be met. */
export function statuses(status, many) {
  const said = SUMMED[status]?.[many === 1 ? 0 : 1] ?? STATUS[status].toLowerCase();
  return `${count(many)} ${said}`;
}

export const WORST_FIRST = Object.keys(STATUS);

export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    (ICONS[name] ?? ICONS.unproven).map((path) => s("path", { d: path })));
}

/** A status as text, colour and icon. */
export function badge() {
  return h("span", { class: "badge", "data-test": "status" }, icon("loading"), h("span", {}));
}

export function setBadge(element, status) {
  if (element.dataset.status === status) return;
  element.dataset.status = status;
  element.firstElementChild.replaceWith(icon(status));
  say(element.lastElementChild, STATUS[status] ?? status);
}

/** A rate as a bar, with a line at the target. */
export function bullet() {
  return s("svg", { class: "bullet", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img" },
    s("rect", { class: "bullet-track", x: 0, y: 2, width: 100, height: 6, rx: 1 }),
    s("rect", { class: "bullet-bar", x: 0, y: 2, width: 0, height: 6, rx: 1 }),
    s("line", { class: "bullet-tick", x1: 0, x2: 0, y1: 0, y2: 10 }));
}

/** A line at a share of the width; hidden without one. */
export function setTick(tick, share) {
  for (const end of ["x1", "x2"]) mark(tick, end, share === null ? -9 : (100 * share).toFixed(2));
}

export function setBullet(element, rate, target) {
  const [, bar, tick] = element.children;
  mark(bar, "width", (100 * Math.min(1, Math.max(0, rate ?? 0))).toFixed(2));
  setTick(tick, target);
  mark(element, "aria-label", `${rate === null ? "no outcomes yet" : percent(rate)}, target ${percent(target)}`);
}

/** A share as a bar, for tables. */
export function meter() {
  return s("svg", { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "bullet-track", width: 100, height: 6, rx: 1 }),
    s("rect", { class: "bullet-bar", width: 0, height: 6, rx: 1 }));
}

export function setMeter(element, share) {
  mark(element.children[1], "width", (100 * Math.min(1, Math.max(0, share))).toFixed(2));
}

/** Text to copy, and the button that does it. */
export function copyable(title, label, text) {
  const pre = h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, text);
  const button = h("button", { type: "button", class: "button quiet small copy", "aria-label": `Copy ${label}` },
    icon("copy"), h("span", {}, "Copy"));
  button.addEventListener("click", async () => {
    const done = await copied(pre);
    say(button.lastElementChild, done ? "Copied" : "Press Ctrl+C");
    announce(done ? "Copied" : "The text is selected: copy it with Ctrl+C");
    setTimeout(() => say(button.lastElementChild, "Copy"), 1600);
  });
  const head = h("div", { class: "copyable-head" }, h("span", {}, title), button);
  return { whole: h("div", { class: "copyable" }, head, pre), pre };
}

async function copied(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent); // available only in secure contexts
    return true;
  } catch {
    getSelection().selectAllChildren(pre);
    return false;
  }
}

/** Ask for confirmation; true if it is given. */
export function confirmed({ title, text, yes, danger = false }) {
  return new Promise((resolve) => {
    const box = h("dialog", { class: "dialog", "data-test": "confirm-dialog", "aria-labelledby": "confirm-title" },
      h("form", { method: "dialog" },
        h("h2", { id: "confirm-title" }, title),
        h("p", { class: "soft" }, text),
        h("div", { class: "actions" },
          h("button", { class: `button ${danger ? "danger" : "strong"}`, value: "yes", "data-test": "confirm" }, yes),
          h("button", { class: "button quiet", value: "no", "data-test": "cancel" }, "Leave it"))));
    box.addEventListener("close", () => {
      resolve(box.returnValue === "yes");
      box.remove();
    });
    document.body.append(box);
    box.showModal();
  });
}

/** A card with a heading. */
export function section(title, props, ...children) {
  const id = `h-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  const all = { ...props, class: `card ${props?.class ?? ""}`, "aria-labelledby": id };
  return h("section", all, h("h2", { id }, title), ...children);
}
