import type { Json } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { UsageFault } from "./fault.ts";
import { instantFrom, jsonFrom } from "./input.ts";
import { scheduleInFile } from "./schedule-file.ts";
import { defined, targetFrom, targetOptions } from "./target-flags.ts";

/** What says when. */
export const whenOptions = {
  when: {
    value: "when",
    multiple: true,
    about: "Such as `0 9 * * 1-5`, `every 5m`, `in 3h`; several are united",
  },
  "starts-at": { value: "instant", about: "Nothing before this" },
  "ends-at": { value: "instant", about: "Nothing from this on" },
  "max-fires": { value: "n", about: "So many runs, then it has ended" },
  calendar: { value: "name[:on]", about: "Days on which it does not run; on: skip, next, previous" },
  spread: { value: "duration", about: "Moved by an offset of the key, up to this" },
  slot: { value: "duration", about: "Rounded up to a multiple of this" },
} as const satisfies Record<string, OptionSpec>;

/** What becomes of the jobs, and what they are found by. */
export const jobOptions = {
  payload: { value: "json", about: "JSON, `@file`, or `-` for stdin" },
  group: { value: "group", about: "Ties schedules together" },
  serial: { about: "The group's serial schedules run one at a time" },
  tag: { value: "tag", multiple: true, about: "A tag; may be given several times" },
  description: { value: "text", about: "For people" },
  priority: { value: "priority", about: "high, normal or low" },
  deadline: { value: "duration", about: "A job that would start later than this is skipped" },
  attempts: { value: "n", about: "How often a job is tried" },
  "retry-base": { value: "duration", about: "The first wait between two tries" },
  timeout: { value: "duration", about: "How long one try may take" },
} as const satisfies Record<string, OptionSpec>;

export const scheduleOptions = {
  file: {
    value: "file",
    short: "f",
    about:
      "A JSON file with the schedule, also as `get --json` has it, or `-` for stdin; options come on top",
  },
  ...whenOptions,
  ...targetOptions,
  ...jobOptions,
  "catch-up": { value: "policy", about: "What becomes of missed runs: latest, all, skip" },
  overlap: { value: "policy", about: "While an earlier job is not done: allow, skip, queue" },
  "hold-after": { value: "n", about: "So many dead jobs in a row put it on hold" },
  delivery: { value: "how", about: "ledger, or pulse: nothing is written when it fires, at least once" },
  "delete-on-end": { about: "It goes by itself when it has ended" },
  paused: { about: "With a hold of your own" },
} as const satisfies Record<string, OptionSpec>;

type Body = { [name: string]: Json };

/** What the options say of a schedule's times. */
export function timingFrom(
  call: Call<Exclude<keyof typeof whenOptions, "when">>,
  whens: readonly string[],
): Body {
  const { given } = call;
  const [name, on] = given.text("calendar")?.split(/:(?=skip$|next$|previous$)/) ?? [];
  return defined({
    when: whens.length > 1 ? [...whens] : whens[0],
    // The zone of the schedule is the one in which its times are shown.
    timezone: zoneOf(call),
    startsAt: instantFrom(call, given.text("starts-at"), "--starts-at"),
    endsAt: instantFrom(call, given.text("ends-at"), "--ends-at"),
    maxFires: given.number("max-fires", { min: 1 }),
    calendar: name === undefined ? undefined : defined({ name, on }),
    spread: given.text("spread"),
    slot: given.text("slot"),
  });
}

export function zoneOf(call: Call): string | undefined {
  return call.given.text("timezone");
}

export async function jobFrom(
  call: Call<keyof typeof jobOptions | keyof typeof targetOptions>,
): Promise<Body> {
  const { given } = call;
  const payload = given.text("payload");
  const tags = given.texts("tag");
  const retry = defined({ attempts: given.number("attempts", { min: 1 }), base: given.text("retry-base") });
  return defined({
    target: await targetFrom(call),
    payload: payload === undefined ? undefined : await jsonFrom(call, payload, "--payload"),
    group: given.text("group"),
    serial: given.flag("serial") ? true : undefined,
    tags: tags.length === 0 ? undefined : tags,
    description: given.text("description"),
    priority: given.text("priority"),
    deadline: given.text("deadline"),
    retry: Object.keys(retry).length === 0 ? undefined : retry,
    timeout: given.text("timeout"),
  });
}

export async function bodyFrom(call: Call<keyof typeof scheduleOptions>): Promise<Body> {
  const { given } = call;
  const file = given.text("file");
  if (file === "-" && given.text("payload") === "-")
    throw new UsageFault("Stdin can be read once: --file and --payload are both `-`.");
  const policy = given.text("catch-up");
  return {
    ...(file === undefined ? {} : await scheduleInFile(call, file)),
    ...timingFrom(call, given.texts("when")),
    ...(await jobFrom(call)),
    ...defined({
      catchUp: policy === undefined ? undefined : { policy },
      overlap: given.text("overlap"),
      holdAfter: given.number("hold-after", { min: 1 }),
      delivery: given.text("delivery"),
      deleteOnEnd: given.flag("delete-on-end") ? true : undefined,
      paused: given.flag("paused") ? true : undefined,
    }),
  };
}
