import type { Job } from "../../client/main.ts";
import { type Command, command } from "../command.ts";
import { UsageFault } from "../fault.ts";
import { instantFrom, jsonFrom } from "../input.ts";
import { showJob } from "../output/shown-job.ts";
import { printable } from "../output/style.ts";
import { oneOf } from "../schedule-filter.ts";
import { jobFrom, jobOptions } from "../schedule-flags.ts";
import { targetOptions } from "../target-flags.ts";

const fire = command({
  name: "fire",
  group: "Jobs",
  summary: "Run a schedule now, beside its cadence",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: { payload: { value: "json", about: "JSON, `@file`, or `-`; default: the schedule's payload" } },
  examples: ["carillon fire report:weekly", `carillon fire report:weekly --payload '{"day":"2026-12-01"}'`],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const text = given.text("payload");
    const params = text === undefined ? {} : { payload: await jsonFrom(call, text, "--payload") };
    showJob(out, await client.schedules.fire(words[0] ?? "", params, { signal }), "It is due now.");
  },
});

const enqueue = command({
  name: "enqueue",
  group: "Jobs",
  summary: "Run a job without a lasting schedule",
  usage: "[key]",
  about: "A key has at most one waiting job: a new job replaces it, unless --if-exists says otherwise.",
  words: { min: 0, max: 1 },
  options: {
    ...targetOptions,
    ...jobOptions,
    at: { value: "instant", about: "When, such as `in 5m`; default: now" },
    "if-exists": { value: "what", about: "replace, keep or refuse" },
  },
  examples: [
    `carillon enqueue --queue mails --payload '{"to":"ann"}'`,
    `carillon enqueue mail:ann --queue mails --at "in 5m"`,
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const job = await jobFrom(call);
    if (job["target"] === undefined)
      throw new UsageFault("A target is needed: --handler, --queue, --event, --webhook or --lambda.");
    const at = given.text("at");
    const body = {
      ...job,
      key: words[0],
      // The server resolves `in …` by its own clock.
      at: at === undefined || /^\s*in\s/.test(at) ? at : instantFrom(call, at, "--at"),
      ifExists: oneOf(given.text("if-exists"), ["replace", "keep", "refuse"] as const, "--if-exists"),
    };
    const { status, body: made } = await client.request<Job>({
      method: "POST",
      path: ["v1", "jobs"],
      body,
      options: { signal },
    });
    showJob(
      out,
      made,
      status === 200
        ? "It is already waiting."
        : at === undefined
          ? "It is due now."
          : "It waits for its time.",
    );
  },
});

const backfill = command({
  name: "backfill",
  group: "Jobs",
  summary: "Run past occurrences that never ran",
  usage: "<key>",
  words: { min: 1, max: 1 },
  options: {
    from: { value: "instant", about: "From this instant" },
    to: { value: "instant", about: "Up to this instant; default: now" },
    limit: { value: "n", short: "n", about: "The most runs, oldest first; default: 1000" },
  },
  examples: [`carillon backfill report:weekly --from "2d ago"`],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const from = instantFrom(call, given.text("from"), "--from");
    if (from === undefined) throw new UsageFault("--from is needed.");
    const to = instantFrom(call, given.text("to") ?? "now", "--to") ?? "";
    const limit = given.number("limit", { min: 1, max: 10_000 });
    const done = await client.schedules.backfill(words[0] ?? "", { from, to, limit }, { signal });
    if (out.isJson) {
      out.json(done);
      return;
    }
    out.line(
      `${done.accepted} runs of ${printable(words[0] ?? "")} follow; ${done.existing} already have a job.`,
    );
    if (done.next !== undefined)
      out.note(`There are more: carillon backfill ${words[0]} --from ${done.next} --to ${to}`);
  },
});

export const runCommands: readonly Command[] = [fire, enqueue, backfill];
