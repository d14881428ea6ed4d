import { briefLog, type HandlerLog, jsonLog, silentLog, textLog } from "../log/log.ts";
import type { Environment } from "./environment.ts";

/**
 * The log of a function: JSON by default, otherwise as `CARILLON_LOG` says: text, only what a person
 * needs to see (`carillon dev`), or nothing (tests and benches).
 */
export function logFrom(env: Environment, source: string): HandlerLog {
  const form = env["CARILLON_LOG"] ?? "json";
  if (form === "json") return jsonLog();
  if (form === "text") return textLog(source, () => new Date());
  if (form === "brief") return briefLog(source, () => new Date());
  if (form === "silent") return silentLog;
  throw new Error(
    `The environment variable CARILLON_LOG is "${form}"; it takes "json", "text", "brief" or "silent".`,
  );
}
