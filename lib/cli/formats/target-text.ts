import { UsageFault } from "../fault.ts";
import type { JsonObject } from "./found.ts";

/**
 * The forms are `queue:reports`, `handler:greet`, `webhook:https://…`, `event:bus` and
 * `lambda:name`.
 */
export function targetFromText(text: string): JsonObject {
  const [, kind = "", name = ""] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === "event") return { event: name === "" ? {} : { bus: name } };
  if (name !== "") {
    if (kind === "queue") return { queue: name };
    if (kind === "handler") return { handler: name };
    if (kind === "webhook") return { webhook: { url: name } };
    if (kind === "lambda") return { lambda: name };
  }
  throw new UsageFault(
    "--target takes queue:<name>, handler:<name>, webhook:<url>, lambda:<name> or event:<bus>.",
  );
}
