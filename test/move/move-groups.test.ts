import { afterEach, beforeEach, expect, test } from "vitest";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { type MovedPart, movedPartShape } from "../../lib/move/moved-doc.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { failed } from "../../lib/target/delivery.ts";
import { fuse, Killed, type Moment } from "../crash/fuse.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { hour, minute } from "../support/instants.ts";
import { type Begun, type Two, twoInstallations } from "./two-installations.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

async function putAll(names: readonly string[], body: object = {}, prefix = "acme:"): Promise<void> {
  for (const name of names) await two.old.put(`${prefix}${name}`, { when: "every 1m", ...body });
  await two.run();
}

/** The parts of all schedules of the move, taken out of the source. */
async function takeAll({ source }: Begun): Promise<MovedPart[]> {
  await source.take((await source.freeze({ after: "", limit: 200 })).ids);
  return (await source.parts()).map((part) => movedPartShape.parse(part));
}

const keyed = (parts: readonly MovedPart[], brought: readonly { id: string; became: string }[]) =>
  Object.fromEntries(
    brought.map(({ id, became }) => [parts.find((part) => part.id === id)?.schedule?.key ?? id, became]),
  );

/** The statements to the destination, and the transactions that it has committed. */
function counting(): { new: Sql; old: Sql; counts: { statements: number; commits: number } } {
  const counts = { statements: 0, commits: 0 };
  const sql = connectThrough(two.new.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      counts.statements += 1;
      if (textOf(statement) === "commit") counts.commits += 1;
      line.run(statement);
    },
  }));
  return { new: sql, old: two.old.as.api, counts };
}

test("a schedule that the destination refuses does not stop the others of its group, which arrive in one transaction", async () => {
  await putAll(["a", "b", "c", "d"]);
  await two.old.put("acme:e", { when: "every 1m", target: { queue: "elsewhere" } });
  await two.new.put("acme:b", { when: "every 1h" });
  const { counts, ...connected } = counting();
  const begun = await two.begin("acme:", { connected });
  const parts = await takeAll(begun);
  counts.commits = 0;
  expect(keyed(parts, await begun.destination.bring(parts))).toEqual({
    "acme:a": "arrived",
    "acme:b": "impossible",
    "acme:c": "arrived",
    "acme:d": "arrived",
    "acme:e": "arrived",
  });
  expect(counts.commits).toBe(1);
  expect(keyed(parts, await begun.destination.bring(parts))).toMatchObject({
    "acme:a": "here",
    "acme:b": "impossible",
  });
  await connected.new.end();
});

test("a group with a schedule that is refused, and one on which the destination fails, brings each of the others once", async () => {
  const names = ["a", "b", "c", "d", "e"];
  await putAll(names);
  const start = two.old.clock.now().getTime();
  await two.old.sql`update carillon.schedules set created_by = repeat('x', 5000) where key = 'acme:d'`;
  await two.new.sql`alter table carillon.schedules add check (length(created_by) < 5000)`;
  await two.new.put("acme:b", { when: "every 1h" });
  const begun = await two.begin("acme:");
  const { moved, left } = await begun.drive();
  expect(moved).toBe(3);
  expect([...left].map(([key, { detail }]) => [key, detail])).toEqual([
    ["acme:b", "The schedule acme:b exists already."],
    ["acme:d", "Carillon failed on it there; its log has the cause."],
  ]);
  await two.advance(minute);
  await two.run();
  const once = [new Date(start + minute).toISOString()];
  expect(names.map((name) => two.ran(`acme:${name}`))).toEqual(names.map(() => once));
  expect(two.new.delivered.map(({ key }) => key).sort()).toEqual(["acme:a", "acme:c", "acme:e"]);
});

test("two schedules of a group that each fit into a quota alone do not both arrive", async () => {
  await defineQuotas(two.new.sql, parseQuotas(["acme:=payloadBytes=1000", "acme:one:=schedules=1"]));
  await putAll(["one:a", "one:b", "two:a", "two:b"], { payload: "x".repeat(300) });
  await putAll(["two:c"], { payload: "x".repeat(400) });
  const begun = await two.begin("acme:");
  const parts = await takeAll(begun);
  const brought = await begun.destination.bring(parts);
  expect(keyed(parts, brought)).toEqual({
    "acme:one:a": "arrived",
    "acme:one:b": "impossible",
    "acme:two:a": "arrived",
    "acme:two:b": "arrived",
    "acme:two:c": "impossible",
  });
  expect(brought.flatMap(({ refusal }) => refusal ?? [])).toEqual([
    expect.stringContaining("schedules"),
    expect.stringContaining("payload"),
  ]);
  const [noted] = await two.new.sql`
    select sum(schedules)::int as schedules, sum(payload_bytes)::int as bytes from carillon.usage`;
  expect(noted).toEqual({ schedules: 3, bytes: 906 });
});

test("a group that is cut at any statement arrives whole, or not at all, and arrives once when it is sent again", async () => {
  two.old.outcome = () => failed("no");
  const whole = fuse();
  await bringThrough("p:", whole);
  const moments = whole.operations.flatMap((each): Moment[] => [
    { ...each, side: "before" },
    ...(each.lasts ? [{ ...each, side: "after" as const }] : []),
  ]);
  expect(moments.length).toBeGreaterThan(20);
  for (const [index, moment] of moments.entries()) {
    const prefix = `p${index}:`;
    const { begun, parts } = await bringThrough(prefix, fuse(moment));
    const [{ count } = { count: -1 }] = await two.new.sql<{ count: number }[]>`
      select count(*)::int as count from carillon.schedules where starts_with(key, ${prefix})`;
    expect([moment, count === 0 || count === parts.length]).toEqual([moment, true]);
    const again = count === 0 ? "arrived" : "here";
    const brought = await begun.destination.bring(parts);
    expect([moment, brought.map(({ became }) => became)]).toEqual([moment, parts.map(() => again)]);
  }
  const [doubled] = await two.new.sql`
    select key from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    group by s.key, j.occurrence having count(*) <> 1`;
  expect(doubled).toBeUndefined();
}, 300_000);

/** Brings schedules, one of which has a job that waits, through connections that may be cut. */
async function bringThrough(prefix: string, { process }: ReturnType<typeof fuse>) {
  await two.old.put(`${prefix}a`, { when: "in 1s", retry: { delays: ["1h"] } });
  await two.advance(2_000);
  await two.run();
  await putAll(["b", "c"], {}, prefix);
  const driver = process();
  driver.begin("driver");
  const cut = connectThrough(two.new.databaseUrl, driver.wrap);
  const parts = await takeAll(await two.begin(prefix));
  try {
    const { destination } = await two.begin(prefix, { connected: { old: two.old.as.api, new: cut } });
    await destination.bring(parts);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
  await driver.closed();
  await cut.end();
  return { begun: await two.begin(prefix), parts };
}

test("two drivers that bring the same group at once, in different orders, bring each schedule once", async () => {
  await putAll(Array.from({ length: 20 }, (_, n) => String(n)));
  const begun = await two.begin("acme:");
  const parts = await takeAll(begun);
  const { destination } = await two.begin("acme:");
  const both = await Promise.all([begun.destination.bring(parts), destination.bring(parts.toReversed())]);
  const results = Map.groupBy(both.flat(), ({ id }) => id);
  expect([...results.values()].map((each) => each.map(({ became }) => became).sort())).toEqual(
    parts.map(() => ["arrived", "here"]),
  );
});

test("parts that come after the time is up have no result, and arrive when they are sent again", async () => {
  await putAll(Array.from({ length: 150 }, (_, n) => String(n)));
  const begun = await two.begin("acme:");
  const parts = await takeAll(begun);
  const first = await begun.destination.bring(parts, () => true);
  expect(first.map(({ became }) => became)).toEqual(Array.from({ length: 100 }, () => "arrived"));
  const second = await begun.destination.bring(parts, () => true);
  expect(second.map(({ became }) => became)).toEqual(Array.from({ length: 100 }, () => "here"));
  const { moved } = await begun.drive();
  expect(moved).toBe(150);
});

test("schedules that take too long together arrive one by one", async () => {
  await putAll(["a", "b", "c"]);
  const { queue } = two.new;
  let passed = 0;
  Object.assign(queue, { timing: { ...queue.timing, now: () => passed } });
  let commits = 0;
  const slow = connectThrough(two.new.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      const text = textOf(statement);
      if (text.includes("insert into carillon.arrived_schedules")) passed += 10_000;
      if (text === "commit") commits += 1;
      line.run(statement);
    },
  }));
  const begun = await two.begin("acme:", { connected: { old: two.old.as.api, new: slow } });
  const parts = await takeAll(begun);
  commits = 0;
  const brought = await begun.destination.bring(parts);
  expect(brought.map(({ became }) => became)).toEqual(["arrived", "arrived", "arrived"]);
  expect(commits).toBe(3);
  await slow.end();
});

test("the statements of a group do not grow with its schedules, their versions and their jobs", async () => {
  two.old.outcome = () => failed("no");
  const { counts, ...connected } = counting();
  const taken: number[] = [];
  for (const count of [10, 80]) {
    const prefix = `n${count}:`;
    const names = Array.from({ length: count }, (_, n) => String(n));
    await putAll(names, { when: "every 30m", retry: { delays: ["2h"] } }, prefix);
    for (const name of names) await two.old.patch(`${prefix}${name}`, { payload: 1 });
    await two.advance(hour / 2);
    await two.run();
    const begun = await two.begin(prefix, { connected });
    const parts = await takeAll(begun);
    expect(parts.flatMap(({ jobs }) => jobs)).toHaveLength(count);
    const before = counts.statements;
    const brought = await begun.destination.bring(parts);
    expect(brought.map(({ became }) => became)).toEqual(names.map(() => "arrived"));
    taken.push(counts.statements - before);
  }
  const [few = 0, many = 0] = taken;
  expect(many).toBeLessThanOrEqual(few + 2);
  expect(many).toBeLessThanOrEqual(40);
  await connected.new.end();
});
