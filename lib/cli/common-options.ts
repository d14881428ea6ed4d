import type { OptionSpec } from "./command.ts";

/** What every command takes. */
export const everywhere = {
  json: { about: "JSON for machines: one value, of a list one to a line" },
  url: { value: "url", about: "Where the API answers; else CARILLON_URL" },
  "token-file": {
    value: "file",
    about: "A file with the token; else CARILLON_TOKEN, else that of the local data directory",
  },
  timezone: {
    value: "zone",
    about: "The zone in which times are shown, such as Europe/Berlin, and that of a schedule that is put",
  },
  "no-color": { about: "No colours, as with NO_COLOR" },
  help: { short: "h", about: "What a command does, with examples" },
} as const satisfies Record<string, OptionSpec>;

/** What is shown of a list. */
export const listOptions = {
  limit: { value: "n", short: "n", about: "At most so many; 50 if left out" },
  all: { about: "All there are" },
} as const satisfies Record<string, OptionSpec>;

export const yesOption = { yes: { short: "y", about: "Do not ask" } } as const satisfies Record<
  string,
  OptionSpec
>;

export const dryRunOption = {
  "dry-run": { about: "Show what would happen, and change nothing" },
} as const satisfies Record<string, OptionSpec>;

export const ifMatchOption = {
  "if-match": { value: "version", about: "Only if the version is still this one" },
} as const satisfies Record<string, OptionSpec>;
