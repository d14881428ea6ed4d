import type { ScheduleFilter, ScheduleState } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { UsageFault } from "./fault.ts";

export const scheduleFilterOptions = {
  prefix: { value: "prefix", about: "Keys that begin with this" },
  group: { value: "group", about: "Of this group" },
  tag: { value: "tag", about: "With this tag" },
  state: { value: "state", about: "active, paused or ended" },
  target: { value: "target", about: "A kind of target, such as webhook" },
} as const satisfies Record<string, OptionSpec>;

export function scheduleFilterFrom({
  given,
  words,
}: Call<keyof typeof scheduleFilterOptions>): ScheduleFilter {
  return {
    prefix: given.text("prefix") ?? words[0],
    group: given.text("group"),
    tag: given.text("tag"),
    state: oneOf(given.text("state"), ["active", "paused", "ended"] satisfies ScheduleState[], "--state"),
    target: given.text("target"),
  };
}

/** What was given, where it is one of these. */
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
