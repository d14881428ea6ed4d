import { describe, expect, test } from "vitest";
import { sidekiq } from "../../../lib/cli/formats/neighbours/sidekiq.ts";
import { solidQueue } from "../../../lib/cli/formats/neighbours/solid-queue.ts";
import { bodyFaults, readAll, readOne } from "./reading.ts";

describe("a job of Sidekiq-cron", () => {
  const job = (parts: object) =>
    readOne(sidekiq, { sync: { class: "SyncJob", cron: "0 9 * * *", ...parts } });

  test("A job keeps its time, name, class, arguments, queue and description", () => {
    const found = readOne(
      sidekiq,
      [
        "sync:",
        "  cron: '*/5 8-18 * * mon-fri Europe/Berlin'",
        "  class: SyncJob",
        "  queue: critical",
        "  description: Syncs the orders",
        "  args: ['*', {full: true}]",
      ].join("\n"),
    );
    expect(found).toMatchObject({
      key: "sync",
      from: "file.yaml sync",
      body: {
        when: "*/5 8-18 * * 1-5",
        timezone: "Europe/Berlin",
        target: { queue: "jobs" },
        payload: { class: "SyncJob", args: ["*", { full: true }], queue: "critical" },
        description: "Syncs the orders",
      },
      faults: [],
    });
    expect(bodyFaults(found)).toEqual([]);
    for (const word of ["runs no Ruby", "missed by more than a minute", "retries 25 times"])
      expect(found.told).toContain(word);
  });

  test("Jobs are found in an object by name, in a list, and in the sidekiq.yml of sidekiq-scheduler", () => {
    const list = [
      { name: "a b", class: "A", cron: "@daily" },
      { name: "b", klass: "B", cron: "every hour" },
    ];
    expect(readAll(sidekiq, list).found.map(({ key }) => key)).toEqual(["a b", "b"]);
    const text =
      ":concurrency: 5\n:scheduler:\n  :schedule:\n    poll:\n      every: ['45m', {first_in: 0s}]\n      class: Poll\n      enabled: false\n";
    const found = readOne(sidekiq, text);
    expect(found).toMatchObject({ key: "poll", body: { when: "every 45m", paused: true }, faults: [] });
    expect(found.told).toContain("first_in");
    expect(found.told).toContain("counts from its creation");
  });

  test("A disabled job becomes a paused schedule, and a namespace comes before its key", () => {
    expect(job({ status: "disabled", namespace: "billing" })).toMatchObject({
      key: "billing:sync",
      body: { paused: true },
    });
    expect(job({ status: "enabled", namespace: "default" })).toMatchObject({ key: "sync" });
    expect(job({ status: "enabled" }).body).not.toHaveProperty("paused");
  });

  test("The retries of a job become those of its schedule", () => {
    expect(job({ retry: 3 }).body["retry"]).toEqual({ attempts: 4 });
    expect(job({ retry: false }).body["retry"]).toEqual({ attempts: 1 });
    expect(job({ retry: true }).body).not.toHaveProperty("retry");
    const many = job({ retry: 500 });
    expect(many.told).toContain("at most 100 attempts");
    expect(bodyFaults(many)).toEqual([]);
  });

  test("A single argument is sent as a list of one", () => {
    expect(job({ args: "all" }).body["payload"]).toEqual({ class: "SyncJob", args: ["all"] });
    expect(job({ date_as_argument: true }).told).toContain("date_as_argument");
  });

  test.each([
    [{ cron: "every fortnight" }, "only plain phrases"],
    [{ cron: undefined, every: "3M" }, '"3M"'],
    [{ cron: undefined, at: "2035/01/01" }, "neither `cron` nor `every`"],
    [{ class: undefined }, "no class"],
    [{ args: "a".repeat(10), queue: 5 }, "queue"],
  ])("The job %j is impossible: %s", (parts, why) => {
    expect(job(parts).from).toBe("file.json sync");
    expect(job(parts).fault).toContain(why);
  });
});

describe("a recurring task of solid_queue", () => {
  const text = [
    "default: &default",
    "  clean:",
    "    command: 'SoftDeleted.due.delete_all'",
    "    schedule: every day at 9am",
    "production:",
    "  <<: *default",
    "  sync:",
    "    class: SyncJob",
    "    args: [42, {status: custom}]",
    "    queue: background",
    "    priority: 2",
    "    schedule: every hour",
    "development:",
    "  clean:",
    "    command: Nothing",
    "    schedule: every second",
  ].join("\n");

  test("The reading takes the tasks of production, and a note names the other environments", () => {
    const { found, notes } = readAll(solidQueue, text);
    expect(found).toMatchObject([
      {
        key: "clean",
        body: { when: "0 9 * * *", payload: { command: "SoftDeleted.due.delete_all" } },
        faults: [],
      },
      {
        key: "sync",
        body: {
          when: "0 * * * *",
          timezone: "UTC",
          payload: { class: "SyncJob", args: [42, { status: "custom" }], queue: "background", priority: 2 },
        },
        faults: [],
      },
    ]);
    expect(found.flatMap(bodyFaults)).toEqual([]);
    expect(notes.join()).toContain("Read the environment production; left out: default, development");
    const told = found[1]?.differences.join() ?? "";
    for (const word of [
      "runs no Ruby",
      "priority",
      "limits_concurrency",
      "no scheduler was up",
      "Rails uses its own",
    ])
      expect(told).toContain(word);
  });

  test("Another environment is read by its name, and a file without environments as a whole", () => {
    expect(readOne(solidQueue, text, { environment: "development" }).body["payload"]).toEqual({
      command: "Nothing",
    });
    const whole = { clean: { command: "Nothing", schedule: "every second" } };
    expect(readOne(solidQueue, whole)).toMatchObject({ key: "clean", body: { when: "* * * * * *" } });
    expect(readOne(solidQueue, text.replace("production:", "staging:")).fault).toContain(
      "has no environment production; it has default, staging, development",
    );
  });

  test.each([
    [{ class: "A", schedule: "every day at 9:00 and 17:30" }, "several cron expressions"],
    [{ class: "A", schedule: "1h" }, "only plain phrases"],
    [{ class: "A" }, "schedule is required"],
    [{ schedule: "every hour" }, "no class and no command"],
  ])("The task %j is impossible: %s", (task, why) => {
    const found = readOne(solidQueue, { production: { task } });
    expect(found.key).toBe("task");
    expect(found.fault).toContain(why);
  });
});
