// Light or dark, before the first paint. A plain script, so that it runs before anything is drawn.
"use strict";
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("suffice.theme");
  } catch {
    // storage may be forbidden: then the system's choice holds
  }
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  };
  apply(chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light");
  system.addEventListener("change", () => chosen || apply(system.matches ? "dark" : "light"));
  document.addEventListener("themechoice", (event) => {
    chosen = event.detail;
    try {
      localStorage.setItem("suffice.theme", chosen);
    } catch {
      // it holds until the page is left
    }
    apply(chosen);
  });
})();
