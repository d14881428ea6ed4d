import path from "node:path";
import { type DevGiven, refuseOthers } from "../../cli/dev/dev-options.ts";
import { UsageFault } from "../../cli/fault.ts";
import type { Environment } from "../../config/environment.ts";
import { pageNamePattern } from "../../config/page-name.ts";
import { reachFrom } from "../../webhook/reach.ts";
import { hostForm, isHost } from "../local/callers.ts";
import { type LocalSettings, portVariables, readSettings } from "../local/settings.ts";
import { instantOf } from "../testing/instant-of.ts";
import type { Ports, Wanted } from "./choose-ports.ts";
import { type Found, findByName, namedFile } from "./find-files.ts";

export interface DevSettings {
  /** Their ports are set once they are chosen. */
  local: LocalSettings;
  ports: Omit<Wanted, "kept">;
  handlers: Found | null;
  schedules: Found | null;
  /** The instant at which a clock begins that only tests move; null for real time. */
  testClock: string | null;
}

/** The settings of the stack for the project in this folder. Options come before the environment. */
export function devSettings(given: DevGiven, env: Environment, folder: string): DevSettings {
  refuseOthers(given);
  const port = given.number("port", { max: 65_535 });
  const local = readSettings({
    ...env,
    CARILLON_DATA_DIR: given.text("data") ?? env["CARILLON_DATA_DIR"],
    CARILLON_WEBHOOK_ALLOW: webhooksIn(given, env),
    CARILLON_HOSTS: hostsIn(given, env),
    CARILLON_PAGE_NAME: env["CARILLON_PAGE_NAME"] || nameOf(folder),
  });
  return {
    local: { ...local, functionLog: logOf(given), webhookAdvice: "carillon dev --webhooks" },
    ports: {
      fixed: { ...setPorts(local.ports, env), ...(port === undefined ? {} : { api: port }) },
      setBy: port === undefined ? portVariables.api : "--port",
    },
    handlers: found("handlers", given.text("handlers") ?? (env["CARILLON_HANDLERS"] || undefined), folder),
    schedules: found("schedules", given.text("schedules"), folder),
    testClock: testClockIn(given),
  };
}

function testClockIn(given: DevGiven): string | null {
  const instant = given.text("test-clock");
  if (instant === undefined) return null;
  try {
    return instantOf(instant).toISOString();
  } catch {
    throw new UsageFault(
      `--test-clock takes the instant at which the clock begins, such as 2027-03-27T12:00:00Z, not ${JSON.stringify(instant)}.`,
    );
  }
}

function setPorts(ports: Ports, env: Environment): Partial<Ports> {
  const set: Partial<Ports> = {};
  for (const name of ["api", "sqs", "events"] as const)
    if ((env[portVariables[name]] ?? "") !== "") set[name] = ports[name];
  return set;
}

function found(what: "handlers" | "schedules", file: string | undefined, folder: string): Found | null {
  return file === undefined ? findByName(what, folder) : namedFile(file, `--${what}`);
}

function webhooksIn(given: DevGiven, env: Environment): string | undefined {
  const own = given.texts("webhooks").flatMap((text) => text.split(","));
  for (const entry of own) {
    try {
      reachFrom({ CARILLON_WEBHOOK_ALLOW: entry });
    } catch {
      throw new UsageFault(
        `--webhooks takes host:port, such as localhost:3000, several with commas; not ${JSON.stringify(entry)}.`,
      );
    }
  }
  const all = [env["CARILLON_WEBHOOK_ALLOW"] ?? "", ...own].filter((entry) => entry.trim() !== "");
  return all.length === 0 ? undefined : all.join(",");
}

function hostsIn(given: DevGiven, env: Environment): string | undefined {
  const own = given.texts("hosts").flatMap((text) => text.split(","));
  const wrong = own.find((host) => !isHost(host));
  if (wrong !== undefined) throw new UsageFault(`--hosts has ${JSON.stringify(wrong)}; ${hostForm}.`);
  return [env["CARILLON_HOSTS"] ?? "", ...own].filter((host) => host !== "").join(",");
}

function logOf(given: DevGiven): LocalSettings["functionLog"] {
  const form = given.text("log") ?? "brief";
  if (form === "text" || form === "json" || form === "brief") return form;
  throw new UsageFault(`--log takes text or json, not ${JSON.stringify(form)}.`);
}

/** The tabs of two projects in a browser have different names. */
function nameOf(folder: string): string | undefined {
  const name = path.basename(folder);
  return pageNamePattern.test(name) ? name : undefined;
}
