// Keys: requested once where the service requires one, stored for this tab or on this computer, deleted on request.

import { Locked, Problem, call, onLocked, setKey } from "./api.js";
import { h, say } from "./dom.js";
import { sentence } from "./words.js";

const PLACE = "suffice.key";
const FORM = /^suffice_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/;

let asking = null; // the promise that all calls without a key await

const stores = () => {
  try {
    return [sessionStorage, localStorage];
  } catch {
    return []; // no storage: a key lasts as long as the page is open
  }
};

const kept = () => stores().map((store) => store.getItem(PLACE)).find(Boolean) ?? null;

/** Read the stored key, and prepare the dialog. */
export function begin() {
  const button = document.getElementById("forget-key");
  use(kept());
  button.addEventListener("click", () => {
    forgetAll();
    location.reload();
  });
  onLocked(ask);
  // A key that is deleted in one tab is deleted in all.
  addEventListener("storage", (event) => {
    if (event.key === PLACE && event.newValue === null && kept() === null) location.reload();
  });
}

function use(key) {
  setKey(key);
  document.getElementById("forget-key").hidden = key === null;
}

function forget() {
  for (const store of stores()) store.removeItem(PLACE);
  use(null);
}

/** Also delete what was loaded with the key. */
function forgetAll() {
  forget();
  const [here] = stores();
  for (const name of Object.keys(here ?? {})) if (name.startsWith("suffice.asked.")) here.removeItem(name);
}

function keep(key, remember) {
  forget();
  const [here, always] = stores();
  (remember ? always : here)?.setItem(PLACE, key);
  use(key);
}

/** Ask for a key. Calls that need one at the same time share the dialog. */
function ask(problem) {
  const said = kept() === null ? null : sentence(`the key no longer opens this server: ${problem.message}`);
  asking ??= dialog(said).finally(() => {
    asking = null;
  });
  return asking;
}

function dialog(said) {
  const error = h("p", { class: "error", "data-test": "key-error", role: "alert", id: "key-error" }, said ?? "");
  const input = h("input", {
    name: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, id: "key-input",
    placeholder: "suffice_…", "aria-describedby": "key-error key-hint",
  });
  const remember = h("input", { type: "checkbox", name: "remember" });
  const submit = h("button", { class: "button strong", type: "submit", "data-test": "key-submit" }, "Open");
  const form = h("form", { method: "dialog", novalidate: true },
    h("h2", { id: "key-title" }, "This server wants a key"),
    h("p", { class: "soft", id: "key-hint" },
      "Made on the server with ", h(
        "code",
        {},
        "suffice keys create NAME --scope read",
      ), ". To ask and tell from here it also needs ", h("code", {}, "--scope use"), ", to make selectors ",
      h("code", {}, "--scope manage"), "."),
    h("label", { class: "field" }, h("span", { class: "label" }, "Key"), input),
    error,
    h("label", { class: "check" }, remember, h("span", {}, "Remember it on this computer")),
    h("div", { class: "actions" }, submit,
      h("button", { class: "button quiet", type: "button", onclick: () => box.close() }, "Not now")),
  );
  const box = h("dialog", { class: "dialog", "data-test": "key-dialog", "aria-labelledby": "key-title" }, form);
  document.body.append(box);
  box.showModal();
  input.focus();
  return new Promise((resolve, reject) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const key = input.value.trim();
      submit.disabled = true;
      const wrong = await fault(key);
      submit.disabled = false;
      if (wrong) {
        say(error, wrong);
        input.select();
        return;
      }
      keep(key, remember.checked);
      resolve();
      box.close();
    });
    box.addEventListener("close", () => {
      box.remove();
      reject(new Locked("This server wants a key.")); // without effect if a key was entered
    });
  });
}

/** What the service finds wrong with a key, or null. */
async function fault(key) {
  if (!FORM.test(key)) return "That is no key: one looks like suffice_, eight characters, _ and 43 more.";
  try {
    await call("GET", "v1/selectors?limit=1", { key });
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) return "The server cannot be reached just now.";
    if (error.status === 401) return sentence(`wrong key: ${error.message}`);
    if (error.status === 403) return sentence(`this key cannot look: ${error.message}`);
    return sentence(error.message);
  }
}
