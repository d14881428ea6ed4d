import type { CancelFilter, JobOwners } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";

export const ownerOptions = {
  key: { value: "key", about: "Of this schedule" },
  prefix: { value: "prefix", about: "Of schedules whose keys begin with this" },
  group: { value: "group", about: "Of this group" },
  tag: { value: "tag", about: "Of schedules with this tag" },
  target: { value: "target", about: "Of a kind of target, or one: webhook/api.example.com" },
} as const satisfies Record<string, OptionSpec>;

export const foundOptions = {
  reason: { value: "reason", about: "That ended for this reason" },
  from: { value: "instant", about: "From this on, such as `2h ago`" },
  to: { value: "instant", about: "Before this" },
} as const satisfies Record<string, OptionSpec>;

export const jobStates = [
  "waiting",
  "running",
  "retrying",
  "succeeded",
  "skipped",
  "dead",
  "cancelled",
] as const;

export function ownersFrom({ given }: Call<keyof typeof ownerOptions>): JobOwners {
  return {
    key: given.text("key"),
    prefix: given.text("prefix"),
    group: given.text("group"),
    tag: given.text("tag"),
    target: given.text("target"),
  };
}

export function isOwned(owners: CancelFilter): boolean {
  const { key, prefix, group, tag, target } = owners;
  return [key, prefix, group, tag, target].some((each) => each !== undefined);
}

/** For the question whether these are meant. */
export function filterText(filter: object): string {
  return Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}
