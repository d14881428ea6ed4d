import { afterEach, beforeEach, expect, test } from "vitest";
import { planLock } from "../../lib/db/locks.ts";
import type { WrapLine } from "./lines.ts";
import {
  claimLeased,
  limitInsteadOfTies,
  oneSnapshot,
  replaceIn,
  watermarkApart,
  watermarkBeforeLock,
  withoutLock,
  withoutStatement,
  withoutTrying,
} from "./mutants.ts";
import { both, cutBefore, heldBefore, type Stage, stage } from "./stage.ts";

let world: Stage;

beforeEach(async () => {
  world = await stage();
});

afterEach(() => world.close());

const second = 1_000;
const asItIs: WrapLine = (line) => line;

/**
 * Each scene is played twice: with the safeguard no rule is broken, without it the oracle reports
 * the broken ones.
 */
interface Scene {
  safeguard: string;
  without: string[];
  play(mutated: boolean): Promise<void>;
}

/** A tick during an edit that has read the shard's watermark. */
async function tickWithinEdit(wrap: WrapLine): Promise<void> {
  await world.put("every 10s");
  const edit = heldBefore("update carillon.schedules");
  const editing = world.patch({ when: "every 7s" }, both(wrap, edit.wrap));
  await edit.reached;
  const ticking = world.batch(asItIs);
  await world.untilBlockedOr(ticking);
  edit.go();
  await Promise.all([editing, ticking]);
}

/** A claim during an edit that has not committed yet. */
async function claimWithinPause(wrap: WrapLine): Promise<void> {
  await world.put("every 10s");
  await world.batch();
  await world.clock.advance(10 * second);
  const edit = heldBefore("commit");
  const pausing = world.pause(edit.wrap);
  await edit.reached;
  await world.clock.advance(second);
  const working = world.work(undefined, wrap);
  await world.untilBlockedOr(working);
  edit.go();
  await Promise.all([pausing, working]);
}

const scenes: Scene[] = [
  {
    safeguard: "the edit's plan lock",
    without: ["lost", "not expected", "started after its withdrawal"],
    play: (mutated) => tickWithinEdit(mutated ? withoutLock({ lockClass: planLock, shared: true }) : asItIs),
  },
  {
    safeguard: "lock and watermark as separate statements",
    without: ["lost"],
    play: async (mutated) => {
      const tick = heldBefore("commit");
      const ticking = world.batch(tick.wrap);
      await tick.reached;
      const putting = world.put("every 10s", mutated ? watermarkBeforeLock(true) : asItIs);
      await world.untilBlockedOr(putting);
      tick.go();
      await Promise.all([ticking, putting]);
    },
  },
  {
    safeguard: "watermark and inserts in one transaction",
    without: ["lost"],
    play: async (mutated) => {
      await world.put("every 10s");
      const apart = mutated ? watermarkApart(world.side) : asItIs;
      await expect(world.batch(both(apart, cutBefore("commit")))).rejects.toThrow("was cut");
    },
  },
  {
    safeguard: "the lock of shards that are passed because they are idle",
    without: ["lost"],
    play: async (mutated) => {
      const create = heldBefore("commit");
      const putting = world.put("every 10s", create.wrap);
      await create.reached;
      await world.pass(mutated ? withoutTrying() : asItIs);
      create.go();
      await putting;
    },
  },
  {
    safeguard: "the fence",
    without: ["settled by a worker that had lost its lease"],
    play: async (mutated) => {
      if (mutated) await replaceIn(world.side, "settle_parcel", "and p.fence = p_fence", "");
      await world.put("in 10s");
      await world.batch();
      await world.clock.advance(10 * second);
      const target = Promise.withResolvers<void>();
      const slow = world.work(target.promise);
      await expect
        .poll(() => world.side`select from carillon.parcels where lease_until is not null`)
        .toHaveLength(1);
      await world.clock.advance(60 * second);
      await world.sweep();
      const other = Promise.withResolvers<void>();
      const taking = world.work(other.promise);
      await expect
        .poll(() => world.side`select from carillon.parcels where lease_until is not null`)
        .toHaveLength(1);
      target.resolve();
      await slow;
      other.resolve();
      await taking;
    },
  },
  {
    safeguard: "the gate",
    without: ["started after its pause"],
    play: async (mutated) => {
      const line = "perform pg_advisory_xact_lock_shared(2, v_shard);";
      if (mutated) await replaceIn(world.side, "claim_parcel", line, "");
      await claimWithinPause(asItIs);
    },
  },
  {
    safeguard: "lock and read of a claim as separate snapshots",
    without: ["started after its pause"],
    play: (mutated) => claimWithinPause(mutated ? oneSnapshot(world.side) : asItIs),
  },
  {
    safeguard: "the job's parcel test",
    without: ["settled by a worker that had lost its lease", "two live leases"],
    play: async (mutated) => {
      if (mutated) {
        await replaceIn(world.side, "plain_jobs", "and j.parcel_id = any(p_parcels)", "");
        await replaceIn(world.side, "write_successes", "and j.parcel_id = any(p_parcels)", "");
      }
      await world.put("in 10s");
      await world.batch();
      await world.patch({});
      await world.clock.advance(10 * second);
      const target = Promise.withResolvers<void>();
      const workers = [world.work(target.promise), world.work(target.promise)];
      await expect
        .poll(
          () =>
            world.side`select from carillon.parcels where ready_at <= carillon.clock() and lease_until is null`,
        )
        .toHaveLength(0);
      await world.clock.advance(second);
      target.resolve();
      await Promise.all(workers);
    },
  },
  {
    safeguard: "the lease",
    without: ["two live leases"],
    play: async (mutated) => {
      if (mutated) await claimLeased(world.side);
      await world.put("in 10s");
      await world.batch();
      await world.clock.advance(10 * second);
      const target = Promise.withResolvers<void>();
      const first = world.work(target.promise);
      const given = (after: number) =>
        world.side<{ fence: number }[]>`
          select fence from carillon.parcels where lease_until is not null and fence <> ${after}`;
      await expect.poll(() => given(0)).toHaveLength(1);
      const [{ fence = 0 } = {}] = await given(0);
      await world.clock.advance(6 * second);
      const other = world.work(target.promise);
      await (mutated ? expect.poll(() => given(fence)).toHaveLength(1) : other);
      await world.clock.advance(second);
      target.resolve();
      await Promise.all([first, other]);
    },
  },
  {
    safeguard: "the withdrawal of an older version's jobs",
    without: ["not expected", "started after its withdrawal"],
    play: async (mutated) => {
      await world.put("every 10s");
      await world.batch();
      await world.patch(
        { when: "every 7s" },
        mutated ? withoutStatement("delete from carillon.jobs") : asItIs,
      );
    },
  },
  {
    safeguard: "`with ties`",
    without: ["lost"],
    play: async (mutated) => {
      await world.put("in 60s");
      // Due at the same instant, and not planned until its row is read, because the instants of a
      // cron are computed first.
      await world.patch({ when: "* * * * *" });
      await world.batch(mutated ? limitInsteadOfTies() : asItIs, 1);
    },
  },
];

test.each(scenes)("no rule is broken with the safeguard: $safeguard", async ({ play }) => {
  await play(false);
  expect(await world.verdict()).toEqual([]);
});

test.each(scenes)("the oracle finds the rules broken without the safeguard: $safeguard", async (scene) => {
  await scene.play(true);
  expect(await world.verdict()).toEqual(scene.without);
});

test("an edit and its withdrawal in one statement would leave the old job alive", async () => {
  await world.put("every 10s");
  const tick = heldBefore("commit");
  const ticking = world.batch(tick.wrap);
  await tick.reached;
  const editing = Promise.resolve(world.side`
    with locked as materialized (select pg_advisory_xact_lock_shared(1, 1), pg_advisory_xact_lock(2, 1)),
    raised as (update carillon.schedules s set version = s.version + 1 from locked)
    delete from carillon.jobs j using locked where j.due_at > carillon.clock()`);
  await world.untilBlockedOr(editing);
  tick.go();
  await Promise.all([ticking, editing]);
  expect(await world.side`select from carillon.jobs where version = 1 and state = 'waiting'`).toHaveLength(
    18,
  );
  // The statement raised the version without inserting its row, and such a schedule cannot be
  // patched.
  await world.side`update carillon.schedules set version = 1`;
  await world.patch({});
  expect(await world.side`select from carillon.jobs where version = 1`).toHaveLength(0);
});
