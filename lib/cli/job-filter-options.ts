import type { CancelFilter, JobOwners } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";

export const ownerOptions = {
  key: { value: "key", about: "Only jobs of this schedule" },
  prefix: { value: "prefix", about: "Only jobs of schedules whose keys begin with this" },
  group: { value: "group", about: "Only jobs of this group" },
  tag: { value: "tag", about: "Only jobs of schedules with this tag" },
  target: { value: "target", about: "Only jobs of a kind of target, or of one: webhook/api.example.com" },
} as const satisfies Record<string, OptionSpec>;

export const foundOptions = {
  reason: { value: "reason", about: "Only jobs that ended for this reason" },
  from: { value: "instant", about: "From this instant, such as `2h ago`" },
  to: { value: "instant", about: "Before this instant" },
} as const satisfies Record<string, OptionSpec>;

export const errorGroupOption = {
  "error-group": { value: "id", about: "Only jobs of this error group, as `carillon errors` lists them" },
} as const satisfies Record<string, OptionSpec>;

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
  const { key, prefix, group, tag, target, errorGroup } = owners;
  return [key, prefix, group, tag, target, errorGroup].some((each) => each !== undefined);
}

/** The filter in words, for the confirmation. */
export function filterText(filter: object): string {
  return Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}
