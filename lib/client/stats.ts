import type { InstantText } from "./json.ts";

/** How things stand; `asOf` says when they were counted. */
export interface Stats {
  asOf: InstantText;
  [name: string]: unknown;
}

/** How many fires each of the coming minutes has. */
export interface Forecast {
  asOf: InstantText;
  minutes: { at: InstantText; fires: number }[];
  heaviest: { at: InstantText; fires: number }[];
  [name: string]: unknown;
}
