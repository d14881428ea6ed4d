import { afterEach, beforeEach, expect, test } from "vitest";
import { versionsOf } from "../../lib/history/versions.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { movedPartShape } from "../../lib/move/moved-doc.ts";
import { minute } from "../support/instants.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

test("versions keep their numbers and authors, and a put of the same body changes nothing", async () => {
  const body = { when: "every 1m", payload: { a: 1 } };
  await two.old.put("acme:a", { when: "0 9 * * *", timezone: "Europe/Berlin" }, "bob");
  await two.old.put("acme:a", body, "carol");
  const begun = await two.begin("acme:");
  await begun.drive();
  const { items } = await versionsOf(two.new.sql, { key: "acme:a", limit: 10 });
  expect(items.map(({ version, change, by }) => [version, change, by])).toEqual([
    [4, "resumed", "operator"],
    [3, "paused", "operator"],
    [2, "replaced", "carol"],
    [1, "created", "bob"],
  ]);
  expect((await two.new.put("acme:a", body)).change).toBe("unchanged");
});

test("the newest versions move as far as they fit, and in any case the one in force", async () => {
  const large = (n: number) => `${n}`.padEnd(200_000, "x");
  for (let n = 1; n <= 8; n++) await two.old.put("acme:a", { when: "every 1m", payload: large(n) });
  await two.old.pause("acme:a");
  const begun = await two.begin("acme:");
  expect((await begun.drive()).moved).toBe(1);
  const { items } = await versionsOf(two.new.sql, { key: "acme:a", limit: 20 });
  const numbers = items.map(({ version }) => version);
  expect(numbers.slice(0, 4)).toEqual([11, 10, 9, 8]);
  expect(numbers.at(-1)).toBeGreaterThan(3);
  expect((await two.new.put("acme:a", { when: "every 1m", payload: large(8) })).change).toBe("unchanged");
});

test("a part that is brought twice changes nothing", async () => {
  await two.old.put("acme:a", { when: "in 1m" });
  await two.run();
  const begun = await two.begin("acme:");
  await begun.source.take((await begun.source.freeze({ after: "", limit: 10 })).ids);
  const parts = (await begun.source.parts()).map((part) => movedPartShape.parse(part));
  expect(await begun.destination.bring(parts)).toMatchObject([{ became: "arrived" }]);
  expect(await begun.destination.bring(parts)).toMatchObject([{ became: "here" }]);
  const both = await Promise.all([begun.destination.bring(parts), begun.destination.bring(parts)]);
  expect(both.flat().map(({ became }) => became)).toEqual(["here", "here"]);
  await begun.drive();
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toHaveLength(1);
});

test("a schedule that the destination cannot have goes on at the source, and cannot arrive later", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  await two.new.put("acme:a", { when: "every 1h" });
  await two.run();
  const start = two.old.clock.now().getTime();
  const begun = await two.begin("acme:");
  await begun.source.take((await begun.source.freeze({ after: "", limit: 10 })).ids);
  const late = (await begun.source.parts()).map((part) => movedPartShape.parse(part));
  await two.advance(2 * minute);
  const { moved, left } = await begun.drive();
  expect(moved).toBe(0);
  expect(left.get("acme:a")).toMatchObject({
    why: "refused by the destination",
    detail: "The schedule acme:a exists already.",
  });
  await two.new.remove("acme:a");
  expect(await begun.destination.bring(late)).toMatchObject([{ became: "refused" }]);
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toEqual([1, 2, 3].map((n) => new Date(start + n * minute).toISOString()));
  expect(two.new.delivered).toEqual([]);
});

test("a key that has moved cannot be made again at the source, and neither can others once the prefix is closed", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  const begun = await two.begin("acme:");
  await begun.drive();
  const refused = (key: string) => expect(two.old.put(key, { when: "every 1m" })).rejects;
  const away = (key: string) => refused(key).toThrow(`Make ${key} there.`);
  await refused("acme:a").toThrow("The schedule acme:a is at https://new.example since");
  await expect(two.old.patch("acme:a", { payload: 1 })).rejects.toThrow("is at https://new.example since");
  const fired = fireNow(
    { sql: two.old.as.api, queue: two.old.queue },
    { key: "acme:a", caller: { name: "ann" } },
  );
  await expect(fired).rejects.toThrow("is at https://new.example since");
  await two.old.put("acme:b", { when: "every 1m" });
  await begun.source.close();
  await away("acme:c");
  await expect(two.old.patch("acme:c", { payload: 1 })).rejects.toThrow(
    'There is no schedule acme:c. The schedules of "acme:" have moved to https://new.example since',
  );
  await two.old.put("other:a", { when: "every 1m" });
  await expect(begun.source.end({ abandon: false })).rejects.toThrow("the schedule acme:b is still here");
  expect((await begun.drive()).moved).toBe(1);
  await begun.finish();
  await away("acme:d");
});

test("a prefix that moves there and back runs each occurrence once, and is open again", async () => {
  await two.old.put("acme:a", { when: "every 1m", payload: 1 });
  await two.run();
  const start = two.old.clock.now().getTime();
  const there = await two.begin("acme:");
  await there.drive();
  await there.finish();
  await two.advance(minute);
  await two.run();
  const back = await two.begin("acme:", { back: true });
  await back.drive();
  await back.finish();
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toEqual([1, 2].map((n) => new Date(start + n * minute).toISOString()));
  expect(two.new.delivered).toHaveLength(1);
  await two.old.put("acme:b", { when: "every 1m" });
  await expect(two.new.put("acme:b", { when: "every 1m" })).rejects.toThrow(
    'The schedules of "acme:" have moved to https://old.example since',
  );
});

test("a prefix that moves to the same installation again takes new keys there at once, and keeps moved ones apart", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  for (const back of [false, true]) {
    const begun = await two.begin("acme:", { back });
    await begun.drive();
    await begun.finish();
    await two.advance(minute);
  }
  const again = await two.begin("acme:");
  expect((await two.new.put("acme:new", { when: "every 1m" })).change).toBe("created");
  await expect(two.new.put("acme:a", { when: "every 1m" })).rejects.toThrow(
    "The schedule acme:a is at https://old.example since",
  );
  await again.drive();
  expect((await two.new.put("acme:a", { when: "every 1m" })).change).toBe("unchanged");
  await again.finish();
});

test("a schedule on which the destination fails goes on at the source, and the others move", async () => {
  for (const key of ["acme:a", "acme:b"]) await two.old.put(key, { when: "every 1m" });
  await two.old.sql`update carillon.schedules set created_by = repeat('x', 5000) where key = 'acme:a'`;
  await two.new.sql`alter table carillon.schedules add check (length(created_by) < 5000)`;
  await two.run();
  const { moved, left } = await (await two.begin("acme:")).drive();
  expect(moved).toBe(1);
  expect(left.get("acme:a")).toMatchObject({ why: "refused by the destination" });
  expect(two.new.log.lines).toContainEqual(
    expect.objectContaining({
      event: "schedule.not-arrived",
      fields: expect.objectContaining({ key: "acme:a" }),
    }),
  );
  await two.advance(minute);
  await two.run();
  expect(two.old.delivered.map(({ key }) => key)).toEqual(["acme:a"]);
});
