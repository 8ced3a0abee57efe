// Making and updating elements. Text is set as text; nothing from outside is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("p", {class: "soft", onclick: f}, "text", child)`. Null and false are left out. */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** Like `h`, for SVG. */
export function s(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replace the children. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** Set a text if it has changed, so that selections and screen readers are not disturbed. */
export function say(element, text) {
  const said = String(text);
  if (element.textContent !== said) element.textContent = said;
  return element;
}

/** Set or remove an attribute if it has changed. */
export function mark(element, name, value) {
  const said = value === null || value === undefined || value === false ? null : value === true ? "" : String(value);
  if (element.getAttribute(name) === said) return;
  if (said === null) element.removeAttribute(name);
  else element.setAttribute(name, said);
}

/** Hide or show a button. If a hidden one had the focus, the focus moves to what it added. */
export function conceal(button, hidden, brought) {
  const focused = hidden && document.activeElement === button;
  button.hidden = hidden;
  if (!focused) return;
  brought.tabIndex = -1;
  brought.focus({ preventScroll: true });
}

/** Children of `parent`, one for each item, in order. Existing ones are reused, so that focus and hover stay. */
export function keyed(parent, items, key, make, update) {
  const old = new Map([...parent.children].map((element) => [element.dataset.key, element]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = old.get(name);
    if (element) old.delete(name);
    else {
      element = make(item);
      element.dataset.key = name;
    }
    update(element, item);
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
  for (const element of old.values()) element.remove();
}

/** A table whose rows become cards on a narrow screen. Roles are explicit, since the styles would remove them. */
export function table(label, columns, props = {}) {
  const head = (column) => h("th", { role: "columnheader", scope: "col", class: column.class }, column.title);
  const body = h("tbody", { role: "rowgroup" });
  const whole = h(
    "table",
    { class: `rows ${props.class ?? ""}`, role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(head))),
    body,
  );
  return { whole, body };
}

/** A row of such a table; the cells can be found as `row.cells`. */
export function tableRow(columns, props = {}) {
  const role = (column) => (column.names ? "rowheader" : "cell"); // the cell that names the row
  const cells = columns.map((column) =>
    h("td", { role: role(column), class: column.class, "data-label": column.title }));
  return h("tr", { role: "row", ...props }, cells);
}

/** Announce a change of status to screen readers. */
export function announce(text) {
  const box = document.getElementById("said");
  say(box, box.textContent === text ? `${text}\u00a0` : text); // so that a repeated text is announced again
}
