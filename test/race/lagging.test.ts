import { expect, test } from "vitest";
import { Refusal } from "../../lib/refusal.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { carillon } from "../support/carillon.ts";
import { judge } from "./judge.ts";
import { readLedger } from "./ledger.ts";
import { mindOf } from "./mind.ts";
import { diceOf, seeded } from "./seeded.ts";

const seconds = (n: number) => n * 1_000;
const steps = 400;

// The edits run one after the other and only the test's clock moves, so the only variable is how far
// each tick got.
test.each([1, 2])(
  "no occurrence is lost or recorded twice, wherever the ticks stop between edits (seed %i)",
  async (seed) => {
    const dice = diceOf(seeded(seed));
    const world = await carillon();
    const { sql, queue, clock } = world;
    // All in one shard.
    await sql`alter table carillon.schedules alter column id set increment by 16`;
    const minds = ["ann", "bob"].map((name) =>
      mindOf({ dice, keys: ["a", "b", "c", "d"], clock }, { sql, queue }, name),
    );
    for (let step = 0; step < steps; step++) {
      const lot = dice.between(1, 100);
      if (lot <= 45) await unlessRefused(dice.pick(minds).change());
      else if (lot <= 70) await fireShardBatch(sql, 1, dice.between(1, 4), queue.timing);
      else if (lot <= 73) await world.tick();
      else
        await clock.advance(
          dice.chance(0.04) ? seconds(dice.between(100, 400)) : dice.between(200, seconds(12)),
        );
    }
    const end = clock.now();
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(seconds(60));
      await world.tick();
    }
    const ledger = await readLedger(sql, end);
    const { violations, owed } = judge(ledger, { claims: [], acknowledged: [] }, end.getTime(), 0);
    // No worker runs here.
    expect(violations.filter((each) => !each.startsWith("stuck"))).toEqual([]);
    expect(owed).toBeGreaterThan(100);
    await world.stop();
  },
  60_000,
);

async function unlessRefused(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}
