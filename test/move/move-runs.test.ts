import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { type MovedPart, movedPartShape } from "../../lib/move/moved-doc.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { hour, minute, second } from "../support/instants.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

test("each occurrence of a moved interval runs once, in one of the two installations", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  await two.old.put("other:a", { when: "every 1m" });
  const start = two.old.clock.now().getTime();
  for (let n = 0; n < 3; n++) {
    await two.run();
    await two.advance(minute);
  }
  await two.run();
  const begun = await two.begin("acme:");
  expect((await begun.drive()).moved).toBe(1);
  await begun.finish();
  for (let n = 0; n < 3; n++) {
    await two.run();
    await two.advance(minute);
  }
  await two.run();
  const expected = [1, 2, 3, 4, 5, 6].map((n) => new Date(start + n * minute).toISOString());
  expect(two.ran("acme:a")).toEqual(expected);
  expect(two.ran("other:a")).toEqual(expected);
  expect(two.new.delivered.map(({ key }) => key)).toEqual(["acme:a", "acme:a", "acme:a"]);
});

test("occurrences that become due while a schedule is on its way run late at the destination", async () => {
  await two.old.put("acme:a", { when: "every 10s", catchUp: { policy: "skip" } });
  const start = two.old.clock.now().getTime();
  await two.run();
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  await two.advance(10 * minute);
  await two.run();
  expect(two.ran("acme:a")).toEqual([]);
  await begun.source.take(ids);
  await two.advance(10 * minute);
  await two.run();
  await begun.drive();
  for (let n = 0; n < 30; n++) {
    await two.run();
    await two.advance(10 * second);
  }
  await two.run();
  const count = (two.old.clock.now().getTime() - start) / (10 * second);
  expect(two.ran("acme:a")).toEqual(
    Array.from({ length: count }, (_, n) => new Date(start + (n + 1) * 10 * second).toISOString()),
  );
});

test("a job that waits for a retry goes on at the destination, with its attempts and the id that its receiver knows", async () => {
  two.old.outcome = () => failed("no");
  await two.old.put("acme:a", {
    when: "in 1m",
    retry: { delays: ["5m", "5m"] },
  });
  await two.run();
  await two.advance(minute);
  await two.run();
  const begun = await two.begin("acme:");
  expect((await begun.drive()).moved).toBe(1);
  await two.advance(4 * minute);
  await two.run();
  expect(two.new.delivered).toEqual([]);
  await two.advance(minute + second);
  await two.run();
  expect(two.new.delivered.map(({ attempt }) => attempt)).toEqual([2]);
  expect(await two.old.jobs("acme:a")).toMatchObject([{ state: "cancelled", reason: "moved" }]);
  expect(await two.new.jobs("acme:a")).toMatchObject([{ state: "succeeded", attempt: 2 }]);
});

test("a limit of fires goes on where it was", async () => {
  await two.old.put("acme:a", { when: "every 1m", maxFires: 4 });
  await two.run();
  for (let n = 0; n < 2; n++) {
    await two.advance(minute);
    await two.run();
  }
  const begun = await two.begin("acme:");
  await begun.drive();
  for (let n = 0; n < 4; n++) {
    await two.advance(minute);
    await two.run();
  }
  expect(two.ran("acme:a")).toHaveLength(4);
});

test("crons, single times, pulses, overlaps and the backlog move like intervals", async () => {
  const bodies = {
    cron: { when: "*/2 * * * *", timezone: "Europe/Berlin" },
    once: { when: "in 6m" },
    ended: { when: "in 1m" },
    overlap: { when: "every 1m", overlap: "skip" },
    owed: { when: "every 1m", catchUp: { policy: "all", limit: 100 } },
    spread: { when: "every 1m", spread: "50s" },
    window: {
      when: "every 1m",
      endsAt: new Date(two.old.clock.now().getTime() + 9.5 * minute).toISOString(),
    },
  };
  for (const [name, body] of Object.entries(bodies))
    for (const owner of ["acme", "other"]) await two.old.put(`${owner}:${name}`, body);
  for (const owner of ["acme", "other"])
    await two.old.put(`${owner}:pulse`, { when: "every 1m", delivery: "pulse" });
  await two.run();
  await two.advance(minute);
  await two.run();
  for (const owner of ["acme", "other"]) await two.old.pause(`${owner}:owed`);
  await two.advance(2 * minute);
  await two.run();
  const begun = await two.begin("acme:");
  const { moved, left } = await begun.drive();
  expect([moved, [...left]]).toEqual([Object.keys(bodies).length + 1, []]);
  await begun.finish();
  for (let n = 0; n < 4; n++) {
    await two.run();
    await two.advance(minute / 2);
  }
  await two.new.resume("acme:owed", "ann");
  await two.old.resume("other:owed", "ann");
  for (let n = 0; n < 16; n++) {
    await two.run();
    await two.advance(minute / 2);
  }
  await two.run();
  for (const name of Object.keys(bodies))
    expect([name, two.ran(`acme:${name}`)]).toEqual([name, two.ran(`other:${name}`)]);
  const [pulses] = await two.new.sql`select count(*)::int as count from carillon.pulses`;
  expect(pulses).toEqual({ count: 1 });
});

test("a job that a person has cancelled ahead of its time does not run at the destination", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  await two.run();
  const start = two.old.clock.now().getTime();
  const [ahead] = await two.old.jobs("acme:a");
  const { scheduleId } = (await two.old.sql`select id as "scheduleId" from carillon.schedules`)[0] ?? {};
  await cancelJob(
    { sql: two.old.sql, queue: two.old.queue },
    {
      id: jobId({ scheduleId, occurrence: ahead?.occurrence ?? new Date(), kind: "cadence", n: 0 }),
      caller: { name: "ann" },
    },
  );
  const begun = await two.begin("acme:");
  await begun.drive();
  for (let n = 0; n < 2; n++) {
    await two.advance(minute);
    await two.run();
  }
  expect(two.ran("acme:a")).toEqual([new Date(start + 2 * minute).toISOString()]);
});

test("many open jobs move in parts, and none starts before its schedule is there", async () => {
  two.old.outcome = () => failed("no");
  await two.old.put("acme:a", { when: "every 1s", retry: { delays: ["1h"] } });
  for (let n = 0; n < 10; n++) {
    await two.run();
    await two.advance(minute);
  }
  const begun = await two.begin("acme:");
  await begun.source.take((await begun.source.freeze({ after: "", limit: 10 })).ids);
  const parts = (await begun.source.parts()).map((part) => movedPartShape.parse(part));
  expect(parts.length).toBeGreaterThan(2);
  const [first, second, ...others] = parts;
  await expect(begun.destination.bring([second as MovedPart])).resolves.toMatchObject([
    { became: "impossible" },
  ]);
  await begun.destination.bring([first as MovedPart, ...others]);
  await begun.drive();
  two.new.outcome = () => done;
  await two.advance(hour);
  for (let n = 0; n < 4; n++) {
    await two.run();
    await two.advance(minute);
  }
  const retried = two.new.delivered
    .filter(({ attempt }) => attempt === 2)
    .map(({ occurrence }) => occurrence);
  const begunAtSource = new Set(two.old.delivered.map(({ occurrence }) => occurrence));
  expect(new Set(retried)).toEqual(begunAtSource);
  expect(retried).toHaveLength(begunAtSource.size);
});

test("jobs that arrive after their schedule was deleted there are cancelled", async () => {
  two.old.outcome = () => failed("no");
  await two.old.put("acme:a", { when: "every 1s", retry: { delays: ["1h"] } });
  for (let n = 0; n < 6; n++) {
    await two.run();
    await two.advance(minute);
  }
  const begun = await two.begin("acme:");
  await begun.source.take((await begun.source.freeze({ after: "", limit: 10 })).ids);
  const [first] = (await begun.source.parts()).map((part) => movedPartShape.parse(part));
  await begun.destination.bring([first as MovedPart]);
  await two.new.remove("acme:a");
  await begun.drive();
  await begun.finish();
  await two.advance(2 * hour);
  await two.run();
  const jobs = await two.new.jobs("acme:a");
  expect(jobs.length).toBeGreaterThan(200);
  expect(new Set(jobs.map(({ state, reason }) => `${state} ${reason}`))).toEqual(
    new Set(["cancelled deleted"]),
  );
  expect(two.new.delivered).toEqual([]);
});
