import { afterEach, beforeEach, expect, test } from "vitest";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { beginMove, closeMove, endMove, forgetMove } from "../../lib/move/moves.ts";
import { minute } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

const caller = { name: "operator", reach: { prefix: "", team: "" } };

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

test("a move does not end while a request that takes its schedules is under way", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  await two.run();
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  const waiting = (count: number) =>
    until("a step waits", async () => (await waitingLocks(two.old.sql)) === count);
  let taking: Promise<unknown> | undefined;
  let ending: Promise<unknown> | undefined;
  await two.old.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where id = any(${ids}::bigint[]) for update`;
    taking = begun.source.take(ids);
    await waiting(1);
    ending = begun.source.end({ abandon: true }).catch(String);
    await waiting(2);
  });
  expect(await taking).toMatchObject({ taken: 1 });
  expect(await ending).toContain("are not confirmed by the other installation");
  await begun.drive();
  await begun.source.end({ abandon: true });
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toHaveLength(1);
});

test("a move back cannot be forgotten before the move out, which would close its prefix again", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  const there = await two.begin("acme:");
  await there.drive();
  await there.finish();
  await two.advance(minute);
  const back = await two.begin("acme:", { back: true });
  await back.drive();
  await back.finish();
  const forget = ({ move: { id } }: typeof there) => forgetMove(two.old.as.api, { id, caller });
  await expect(forget(back)).rejects.toThrow(`the older move ${there.move.id}`);
  await two.old.put("acme:b", { when: "every 1m" });
  await forget(there);
  await forget(back);
  await two.old.put("acme:c", { when: "every 1m" });
});

test("a key that has moved stays away when a later move of its prefix, or of a shorter one, begins or closes", async () => {
  await two.old.put("acme:eu:a", { when: "every 1m" });
  const first = await two.begin("acme:eu:");
  await first.drive();
  await first.finish();
  const away = () =>
    expect(two.old.put("acme:eu:a", { when: "every 1m" })).rejects.toThrow("is at https://new.example since");
  for (const prefix of ["acme:eu:", "acme:"]) {
    await two.advance(minute);
    const asked = { prefix, peer: "https://third.example", caller };
    const { id } = await beginMove(two.old.as.api, asked);
    await away();
    await closeMove(two.old.as.api, { id, caller });
    await away();
    await endMove(two.old.as.api, { id, direction: "out", abandon: true, caller });
    await away();
  }
});

test("schedules that are taken after the move has ended at the destination go on at the source", async () => {
  await two.old.put("acme:a", { when: "every 1m" });
  await two.run();
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  await begun.destination.end();
  await begun.source.take(ids);
  expect(await begun.drive()).toMatchObject({
    moved: 0,
    left: new Map([["acme:a", { key: "acme:a", why: "refused by the destination" }]]),
  });
  await begun.source.end({ abandon: true });
  await two.advance(minute);
  await two.run();
  expect(two.old.delivered).toHaveLength(1);
});

test("each schedule that the source refuses to stop is listed, however many there are", async () => {
  const keys = Array.from({ length: 25 }, (_, n) => `acme:${n}`);
  for (const key of keys) await two.old.put(key, { when: "every 1m" });
  await two.old.sql`
    insert into carillon.holds (schedule_id, scope, name, owner, since, reach, team, shard)
    select id, 'schedule', '', 'owner ' || n, carillon.clock(), '', '', shard from carillon.schedules, generate_series(1, 100) n`;
  const { left } = await (await two.begin("acme:")).drive();
  expect([...left.values()].map(({ key, why }) => `${key} ${why}`).sort()).toEqual(
    keys.map((key) => `${key} refused`).sort(),
  );
});

test("a backfill at the destination runs no occurrence from before the move, and those that were missed since", async () => {
  await two.old.put("acme:a", { when: "every 1m", catchUp: { policy: "skip" } });
  const from = two.old.clock.now();
  for (let n = 0; n < 3; n++) {
    await two.run();
    await two.advance(minute);
  }
  await two.run();
  const begun = await two.begin("acme:");
  await begun.drive();
  await begun.finish();
  await two.run();
  await two.advance(10 * minute);
  await two.run();
  const to = two.new.clock.now();
  const edits = { sql: two.new.as.api, queue: two.new.queue };
  const { accepted } = await backfillSchedule(edits, { key: "acme:a", from, to, limit: 100, caller });
  expect(accepted).toBeGreaterThan(0);
  await two.run();
  const all = Array.from({ length: 13 }, (_, n) => new Date(from.getTime() + (n + 1) * minute).toISOString());
  expect(two.ran("acme:a")).toEqual(all);
});
