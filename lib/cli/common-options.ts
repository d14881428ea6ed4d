import type { OptionSpec } from "./command.ts";

export const everywhere = {
  json: { about: "JSON for machines: one value; for a list, one value per line" },
  url: {
    value: "url",
    about: "The address of the API; default: CARILLON_URL, then the one in the local data directory",
  },
  "token-file": {
    value: "file",
    about: "A file with the token; default: CARILLON_TOKEN, then the token in the local data directory",
  },
  timezone: {
    value: "zone",
    about: "The zone of times, shown and given, such as Europe/Berlin; for put also the schedule's zone",
  },
  "no-color": { about: "No colours, as with NO_COLOR" },
  help: { short: "h", about: "Show the help of a command, with examples" },
} as const satisfies Record<string, OptionSpec>;

export const listOptions = {
  limit: { value: "n", short: "n", about: "The most entries; default: 50" },
  all: { about: "All entries" },
} as const satisfies Record<string, OptionSpec>;

export const fullOption = {
  full: { about: "All values in full; default: key fields, and long values cut" },
} as const satisfies Record<string, OptionSpec>;

export const yesOption = {
  yes: { short: "y", about: "Do not ask for confirmation" },
} as const satisfies Record<string, OptionSpec>;

export const dryRunOption = {
  "dry-run": { about: "Show what would happen, without changing anything" },
} as const satisfies Record<string, OptionSpec>;

export const ifMatchOption = {
  "if-match": { value: "version", about: "Only if this is still the version" },
} as const satisfies Record<string, OptionSpec>;
