import type { Json } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { UsageFault } from "./fault.ts";
import { instantFrom, jsonFrom } from "./input.ts";
import { scheduleInFile } from "./schedule-file.ts";
import { defined, targetFrom, targetOptions } from "./target-flags.ts";

export const whenOptions = {
  when: {
    value: "when",
    multiple: true,
    about:
      "Such as `0 9 * * 1-5`, `every 5m`, `in 3h`; may be given several times, and the runs are combined",
  },
  "starts-at": {
    value: "instant",
    about: "No run before this instant; without an offset, in --timezone or else UTC",
  },
  "ends-at": { value: "instant", about: "No run from this instant on" },
  "max-fires": { value: "n", about: "The number of runs after which it ends" },
  calendar: {
    value: "name[:on]",
    about: "A calendar of days on which it does not run; on: skip, next, previous",
  },
  spread: { value: "duration", about: "Delayed by an offset derived from the key, up to this" },
  slot: { value: "duration", about: "Rounded up to a multiple of this time" },
} as const satisfies Record<string, OptionSpec>;

export const jobOptions = {
  payload: { value: "json", about: "JSON, `@file`, or `-` for stdin" },
  group: { value: "group", about: "Ties schedules together" },
  serial: { about: "The group's serial schedules run one at a time" },
  tag: { value: "tag", multiple: true, about: "A tag; may be given several times" },
  description: { value: "text", about: "A description for people" },
  priority: { value: "priority", about: "high, normal or low" },
  deadline: { value: "duration", about: "A job that would start later than this is skipped" },
  attempts: { value: "n", about: "The most attempts of a job" },
  "retry-base": { value: "duration", about: "The first wait between two attempts" },
  timeout: { value: "duration", about: "How long one attempt may take" },
} as const satisfies Record<string, OptionSpec>;

export const scheduleOptions = {
  file: {
    value: "file",
    short: "f",
    about:
      "A JSON file with the schedule, also the output of `get --json`, or `-` for stdin; options override it",
  },
  ...whenOptions,
  ...targetOptions,
  ...jobOptions,
  "catch-up": { value: "policy", about: "Which missed runs are made up for: latest, all, skip" },
  overlap: { value: "policy", about: "What to do while an earlier job is not settled: allow, skip, queue" },
  "hold-after": { value: "n", about: "The number of dead jobs in a row that put it on hold" },
  delivery: { value: "how", about: "ledger, or pulse: nothing is written when it fires, at least once" },
  "delete-on-end": { about: "Delete it automatically when it has ended" },
  paused: { about: "Create it with a hold of your own" },
} as const satisfies Record<string, OptionSpec>;

type Body = { [name: string]: Json };

/** The fields of a schedule's times, from the options. */
export function timingFrom(
  call: Call<Exclude<keyof typeof whenOptions, "when">>,
  whens: readonly string[],
): Body {
  const { given } = call;
  const [name, on] = given.text("calendar")?.split(/:(?=skip$|next$|previous$)/) ?? [];
  return defined({
    when: whens.length > 1 ? [...whens] : whens[0],
    // The schedule's zone is also the zone of shown times.
    timezone: zoneOf(call),
    startsAt: instantFrom(call, given.text("starts-at"), "--starts-at", zoneOf(call) ?? "UTC"),
    endsAt: instantFrom(call, given.text("ends-at"), "--ends-at", zoneOf(call) ?? "UTC"),
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
    throw new UsageFault("--file and --payload are both `-`, but stdin can be read only once.");
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
