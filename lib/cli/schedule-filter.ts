import type { ScheduleFilter, ScheduleState } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { UsageFault } from "./fault.ts";
import { argumentOr, instantFrom } from "./input.ts";

export const scheduleFilterOptions = {
  prefix: { value: "prefix", about: "Only keys that begin with this" },
  group: { value: "group", about: "Only schedules of this group" },
  tag: { value: "tag", about: "Only schedules with this tag" },
  state: { value: "state", about: "active, paused or ended" },
  target: { value: "target", about: "A kind of target, such as webhook, or one: webhook/api.example.com" },
  "created-by": { value: "token", about: "Only schedules created with the token of this name" },
  calendar: { value: "calendar", about: "Only schedules that use this calendar" },
  failing: { about: "Only schedules with a dead job and no success since" },
  "next-from": {
    value: "instant",
    about: "Only schedules whose next run is at this instant or later, such as now",
  },
  "next-to": {
    value: "instant",
    about: "Only schedules whose next run is before this instant, such as `in 1h`",
  },
} as const satisfies Record<string, OptionSpec>;

/** The filter options of a bulk edit, whose own options may have the names of others. */
export const bulkFilterOptions = {
  prefix: scheduleFilterOptions.prefix,
  state: scheduleFilterOptions.state,
  target: scheduleFilterOptions.target,
  "created-by": scheduleFilterOptions["created-by"],
  "with-calendar": scheduleFilterOptions.calendar,
  failing: scheduleFilterOptions.failing,
  "next-from": scheduleFilterOptions["next-from"],
  "next-to": scheduleFilterOptions["next-to"],
} as const satisfies Record<string, OptionSpec>;

/** The options that have the same name in lists and in bulk edits. */
type CommonOption = Exclude<keyof typeof bulkFilterOptions, "with-calendar">;

function commonFilterFrom(call: Call<CommonOption>): ScheduleFilter {
  const { given } = call;
  return {
    prefix: given.text("prefix"),
    state: oneOf(given.text("state"), ["active", "paused", "ended"] satisfies ScheduleState[], "--state"),
    target: given.text("target"),
    createdBy: given.text("created-by"),
    failing: given.flag("failing") ? true : undefined,
    nextFrom: instantFrom(call, given.text("next-from"), "--next-from"),
    nextTo: instantFrom(call, given.text("next-to"), "--next-to"),
  };
}

export function bulkFilterFrom(call: Call<keyof typeof bulkFilterOptions>): ScheduleFilter {
  return { ...commonFilterFrom(call), calendar: call.given.text("with-calendar") };
}

export function scheduleFilterFrom(call: Call<keyof typeof scheduleFilterOptions>): ScheduleFilter {
  const { given } = call;
  return {
    ...commonFilterFrom(call),
    prefix: argumentOr(call, "prefix"),
    group: given.text("group"),
    tag: given.text("tag"),
    calendar: given.text("calendar"),
  };
}

/** The value of an option that takes one of these words. */
export function oneOf<Word extends string>(
  word: string | undefined,
  words: readonly Word[],
  option: string,
): Word | undefined {
  if (word === undefined) return undefined;
  const found = words.find((each) => each === word);
  if (found !== undefined) return found;
  throw new UsageFault(
    `${option} takes ${words.slice(0, -1).join(", ")} or ${words.at(-1)}, not ${JSON.stringify(word)}.`,
  );
}
