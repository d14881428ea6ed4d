import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { previewSchedule } from "../../lib/history/preview.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { countedSteps } from "../support/counted-steps.ts";
import { at, hour, minute } from "../support/instants.ts";
import { occurrences } from "./preview-steps.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const preview = (body: object, n = 10, from?: Date, key?: string) =>
  previewSchedule(world.sql, {
    key,
    body: parseScheduleBody({ target: { queue: "demo" }, ...body }),
    n,
    from: from?.getTime(),
  });

const next = (key: string, n = 10, from?: Date) =>
  nextOccurrences(world.sql, { key, n, from: from?.getTime() });

const times = ({ occurrences }: { occurrences: readonly { at: number }[] }) =>
  occurrences.map((each) => new Date(each.at).toISOString().slice(11, 16));

describe("a preview", () => {
  test("A preview shows what saving would give, and saves nothing", async () => {
    const told = await preview({ when: "0 9 * * 1-5", timezone: "Europe/Berlin" }, 2);
    expect(told).toEqual({
      timezone: "Europe/Berlin",
      cadence: "0 9 * * 1-5",
      cadenceText: expect.stringContaining("09:00"),
      warnings: [],
      occurrences: [
        { at: Date.parse("2026-03-03T08:00:00Z"), wall: "2026-03-03T09:00:00+01:00", due: null, note: null },
        { at: Date.parse("2026-03-04T08:00:00Z"), wall: "2026-03-04T09:00:00+01:00", due: null, note: null },
      ],
    });
    expect(await world.sql`select from carillon.schedules union all select from carillon.cadences`).toEqual(
      [],
    );
  });

  test.each([
    ["a cron", { when: "*/20 * * * *" }],
    ["an interval", { when: "every 25m" }],
    ["a time from now", { when: "in 3h" }],
    ["a time that is a little past", { when: "at 2026-03-02T09:59:30Z" }],
    ["a later start", { when: "every 1h", startsAt: "2026-03-02T12:30:00Z" }],
    ["an end", { when: "every 10m", endsAt: "2026-03-02T10:30:00Z" }],
    ["a limit", { when: "every 1m", maxFires: 4 }],
    ["times spread by its key", { when: "H H * * *", spread: "30m", slot: "1m" }],
  ])("A preview of %s shows the occurrences that the saved schedule will have", async (_, body) => {
    const told = await preview(body, 6, undefined, "saved");
    await world.put("saved", body);
    const saved = await next("saved", 6);
    const kept = saved.occurrences.map(({ held: _held, ...each }) => each);
    // A preview also shows an occurrence seconds ago, which would run at once. For the saved
    // schedule it is no longer a coming one.
    expect(told.occurrences.filter((each) => each.at > at(0).getTime())).toEqual(kept);
    expect(told.occurrences.length).toBeGreaterThan(0);
  });

  test("A preview continues from an instant, with a limit that counts from now", async () => {
    expect(times(await preview({ when: "*/10 * * * *", maxFires: 5 }, 10, at("10:30:00")))).toEqual([
      "10:40",
      "10:50",
    ]);
    expect(times(await preview({ when: "*/10 * * * *", maxFires: 5 }, 10, at("10:50:00")))).toEqual([]);
    expect(times(await preview({ when: "*/10 * * * *", maxFires: 5 }, 2, at("08:00:00")))).toEqual([
      "10:10",
      "10:20",
    ]);
    expect(times(await preview({ when: "*/10 * * * *" }, 2, at("08:00:00")))).toEqual(["08:10", "08:20"]);
    const far = new Date("2099-01-01T00:00:00Z");
    expect(times(await preview({ when: "every 1s", maxFires: 1_000_000 }, 2, far))).toEqual([]);
    await expect(preview({ when: "* * * * *", maxFires: 1_000_000 }, 2, far)).rejects.toMatchObject({
      kind: "impossible",
      faults: [{ path: "from" }],
    });
  });

  test("A preview without a key warns that times spread by key depend on it", async () => {
    const warning = expect.stringContaining("spread by the schedule's key");
    expect((await preview({ when: "H 9 * * *" })).warnings).toEqual([warning]);
    expect((await preview({ when: "0 9 * * *", spread: "10m" })).warnings).toEqual([warning]);
    expect((await preview({ when: "H 9 * * *", spread: "10m" }, 1, undefined, "k")).warnings).toEqual([]);
    expect((await preview({ when: ["0 9 * * THU", "every 1 hour"] })).warnings).toEqual([]);
  });

  test.each([
    ["cannot be understood", { when: "61 * * * *" }, { kind: "invalid", faults: [{ path: "when" }] }],
    ["is over", { when: "at 2020-01-01T00:00:00Z" }, { kind: "invalid", faults: [{ path: "when" }] }],
    [
      "refers to a missing calendar",
      { when: "every 1h", calendar: { name: "none" } },
      { kind: "impossible", faults: [{ path: "calendar.name" }] },
    ],
  ])("A preview refuses a body that %s", async (_, body, refusal) => {
    await expect(preview(body)).rejects.toMatchObject(refusal);
  });

  test("A preview of a thousand occurrences takes a bounded number of steps for each, however rare they are", async () => {
    const counted = await countedSteps(new URL("./preview-steps.ts", import.meta.url));
    expect(counted).toHaveLength(15);
    for (const { name, steps } of counted) expect(steps, name).toBeLessThan(400 * occurrences);
  });
});

describe("the coming occurrences", () => {
  test("The coming occurrences of a limited schedule are as many as its remaining jobs, those made ahead included", async () => {
    await world.put("k", { when: "every 1m", maxFires: 5 });
    expect(times(await next("k"))).toEqual(["10:01", "10:02", "10:03", "10:04", "10:05"]);
    await world.clock.setNow(at("10:02:00"));
    await world.tick();
    expect(times(await next("k"))).toEqual(["10:03", "10:04", "10:05"]);
    expect(times(await next("k", 10, at("10:04:00")))).toEqual(["10:05"]);
    expect(times(await next("k", 10, at("10:05:00")))).toEqual([]);
    await world.clock.setNow(at("10:05:00"));
    await world.tick();
    expect(times(await next("k"))).toEqual([]);
  });

  test("The coming occurrences show which of them a hold keeps back, and until when", async () => {
    await world.put("k", { when: "*/10 * * * *" });
    await world.pause("k", { reason: "lunch", until: at("10:25:00") });
    const told = await next("k", 4);
    expect(told).toMatchObject({ heldUntil: at("10:25:00"), holds: [{ owner: "ann", reason: "lunch" }] });
    expect(told.occurrences.map(({ held }) => held)).toEqual([true, true, false, false]);
    await world.pause("k");
    expect(await next("k", 2)).toMatchObject({
      heldUntil: null,
      occurrences: [{ held: true }, { held: true }],
    });
    await world.resume("k");
    expect(await next("k", 2)).toMatchObject({ holds: [], occurrences: [{ held: false }, { held: false }] });
  });

  test("The coming occurrences of a limited schedule count the jobs that the end of a hold releases, before and after they are made", async () => {
    await world.put("k", { when: "*/10 * * * *", maxFires: 4 });
    await world.pause("k", { until: at("10:25:00") });
    const expected = ["10:10", "10:20", "10:30", "10:40", "10:50"];
    expect(times(await next("k"))).toEqual(expected);
    await world.clock.setNow(at("10:23:00"));
    await world.tick();
    expect(times(await next("k"))).toEqual(expected.slice(2));
    await world.clock.setNow(at("10:25:00"));
    await world.work();
    expect(times(await next("k"))).toEqual(expected.slice(2));
    await world.clock.setNow(at("10:40:00"));
    await world.tick();
    await world.clock.setNow(at("10:50:00"));
    await world.tick();
    await world.work();
    expect(world.delivered).toHaveLength(4);
  });

  test("Occurrences that a spread delays are still coming after their nominal time", async () => {
    await world.put("k", { when: "0 * * * *", spread: "20m" });
    const [first] = (await next("k", 1)).occurrences;
    if (first === undefined || first.due === null) throw new Error("The spread moves nothing.");
    expect(first.due - first.at).toBeGreaterThan(minute);
    await world.clock.setNow(new Date(first.at + 1));
    expect((await next("k", 1)).occurrences).toEqual([first]);
    await world.clock.setNow(new Date(first.due));
    expect((await next("k", 1)).occurrences).toMatchObject([{ at: first.at + hour }]);
  });
});
