import type { CommandText, Given, OptionSpec } from "../command.ts";
import type { everywhere } from "../common-options.ts";
import { UsageFault } from "../fault.ts";

const options = {
  handlers: {
    value: "file",
    about:
      "The module that exports `handlers`; default: CARILLON_HANDLERS, then carillon/handlers.ts, src/handlers.ts or handlers.ts",
  },
  schedules: {
    value: "path",
    about:
      "The module that exports `schedules`, or files as `apply` takes them; default: carillon/schedules.ts, src/schedules.ts, schedules.ts or schedules/",
  },
  data: { value: "directory", about: "Where data is kept; default: CARILLON_DATA_DIR, then .carillon" },
  port: {
    value: "n",
    about: "The port of the API; default: CARILLON_PORT, then that of the last start, 8787 or a free one",
  },
  webhooks: {
    value: "host:port",
    multiple: true,
    about: "A private address that webhooks may reach, such as localhost:3000; several with commas",
  },
  hosts: {
    value: "host",
    multiple: true,
    about:
      "Another name of this machine to which the ports answer, such as host.docker.internal; several with commas",
  },
  "test-clock": {
    value: "instant",
    about:
      "Begin at this instant, with a clock that only POST /test/clock moves: for tests in other languages; nothing is kept",
  },
  log: { value: "form", about: "Print what the functions log, too: text or json" },
} as const satisfies Record<string, OptionSpec>;

export type DevGiven = Given<keyof typeof options | keyof typeof everywhere>;

/** `carillon dev` and `carillon-dev`, which take the same options. */
export const devText = {
  name: "dev",
  group: "Local",
  summary: "Run everything on this machine, with the handlers and schedules of this project",
  usage: "",
  about:
    "Needs the package carillon-dev. Handlers and schedules are found by their names, and loaded again when they change; data stays. A line for each job says how it ended. Ctrl-C stops it.",
  words: { min: 0, max: 0 },
  options,
  examples: [
    "carillon dev",
    "carillon dev --port 9000 --webhooks localhost:3000",
    "carillon dev --handlers jobs/handlers.ts --schedules jobs/schedules --data .carillon-jobs",
  ],
} as const satisfies CommandText & { options: typeof options };

/** The options of every command that have no meaning here. */
const others = ["json", "url", "token-file", "timezone"] as const;

const instead: Readonly<Record<(typeof others)[number], string>> = {
  json: "--log json prints the functions' log as JSON",
  url: "it runs an API of its own; --port sets its port",
  "token-file": "the token of the API that it runs is in CARILLON_TOKEN, or made",
  timezone: "times are those of this machine; TZ sets its zone",
};

export function refuseOthers(given: DevGiven): void {
  for (const name of others)
    if (given.flag(name)) throw new UsageFault(`dev takes no --${name}: ${instead[name]}.`);
}

/** The options as they were given, for the program of the package. */
export function devArguments(given: DevGiven): string[] {
  refuseOthers(given);
  const names = ["handlers", "schedules", "data", "port", "webhooks", "hosts", "test-clock", "log"] as const;
  const named = names.flatMap((name) => given.texts(name).map((value) => `--${name}=${value}`));
  return given.flag("no-color") ? [...named, "--no-color"] : named;
}
