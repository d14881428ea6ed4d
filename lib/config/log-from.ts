import { type HandlerLog, jsonLog, silentLog, textLog } from "../log/log.ts";
import type { Environment } from "./environment.ts";

/**
 * The log of a function: JSON by default, text or nothing (in tests and benches) by `CARILLON_LOG`.
 */
export function logFrom(env: Environment, source: string): HandlerLog {
  const form = env["CARILLON_LOG"] ?? "json";
  if (form === "json") return jsonLog();
  if (form === "text") return textLog(source, () => new Date());
  if (form === "silent") return silentLog;
  throw new Error(`The environment variable CARILLON_LOG is "${form}"; it takes "json", "text" or "silent".`);
}
