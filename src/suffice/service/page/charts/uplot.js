// uPlot is loaded when the first chart is drawn, so that the list does not wait for it.

import { ROOT } from "../api.js";

let loading = null;

export function uplot() {
  loading ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("static/vendor/uplot/uPlot.min.css", ROOT);
    // Before our own style sheets, which override it.
    document.head.insertBefore(style, document.head.querySelector("link[rel=stylesheet]"));
    const script = document.createElement("script");
    script.src = new URL("static/vendor/uplot/uPlot.iife.min.js", ROOT);
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => {
      loading = null; // the next chart tries again
      script.remove();
      reject(new Error("the charts could not be fetched"));
    };
    document.head.append(script);
  });
  return loading;
}
