// Cancelling a decision that was never carried out.

import { at, call } from "../api.js";
import { announce } from "../dom.js";
import { confirmed } from "../parts.js";

const MEANT =
  "Only if it was never carried out: it then counts as neither success nor failure, and no outcome can be told any more. " +
  "Never cancel a decision because it failed.";

/** Whether the user wants to cancel it. */
export const wanted = (decision) =>
  confirmed({ title: `Cancel decision ${decision}?`, text: MEANT, yes: "Cancel it", danger: true });

export async function cancel(name, decision, signal) {
  await call("POST", at(name, "cancel"), { body: { decision }, signal });
  announce(`Decision ${decision} cancelled`);
}
