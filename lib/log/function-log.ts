import { systemClock } from "../clock.ts";
import type { Environment } from "../config/environment.ts";
import { jsonLog, type Log, textLog } from "./log.ts";

/** The log of a function as `CARILLON_LOG` says: `json` for CloudWatch, the default, or `text` for a person. */
export function functionLog(env: Environment, source: string): Log {
  const kind = env["CARILLON_LOG"] ?? "json";
  if (kind === "json") return jsonLog();
  if (kind === "text") return textLog(source, systemClock.now);
  throw new Error(`CARILLON_LOG is "${kind}"; it takes "json" or "text".`);
}
