import { afterEach, beforeEach, expect, test } from "vitest";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { retryPlans } from "../../lib/tick/fire/retry-plans.ts";
import { clearHolds } from "../../lib/tick/housekeeping/clear-ended-holds.ts";
import type { Run } from "../../lib/tick/run.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { quarantined, told } from "./poison.ts";
import { idOf, keysWhere } from "./row-scenario.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  for (const key of keys) await world.put(key, { when: "in 300d", deleteOnEnd: true });
});

afterEach(() => world.stop());

const keys = ["a", "b", "c"];
const withoutVersion = "Error: The stored version 1 has no row in carillon.schedule_versions.";

/** A part that ends by itself checks the time only a few times. */
async function endsByItself(act: (run: Run) => Promise<unknown>): Promise<void> {
  let asked = 0;
  const timeIsUp = () => {
    asked += 1;
    return asked > 200;
  };
  const note = (error: unknown) => {
    throw error;
  };
  const total = { batches: 0, jobs: 0, parcels: 0, finished: true };
  await act({ ...world, settings: tickDefaults, timeIsUp, total, rated: [], note });
  expect(asked).toBeLessThan(50);
}

const endAll = (run: Run) => deleteEnded(run, run);

const lookAtAll = () => world.sql`update carillon.schedules set end_look_at = carillon.clock()`;

const endHolds = () => world.sql`
  insert into carillon.holds (schedule_id, owner, since, until, shard)
  select id, 'ann', carillon.clock() - interval '2 hours', carillon.clock() - interval '1 hour', shard from carillon.schedules order by key`;

const planAgain = async () => {
  for (const key of keys) {
    const id = await idOf(world, key);
    await setAside(world.sql, "plan", [{ item: id, scheduleId: id, error: new Error("no") }]);
  }
  await world.clock.advance(minute);
};

async function loseVersionOf(key: string): Promise<string> {
  const id = await idOf(world, key);
  await world.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`delete from carillon.schedule_versions where schedule_id = ${id}`;
  });
  return id;
}

/** Writes to the table have no effect, as a trigger of the database's owner may cause. */
const writesNothing = (table: string) =>
  world.sql.unsafe(`
    create function public.drop_it() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger drop_it before insert or update or delete on carillon.${table} for each row execute function public.drop_it()`);

test.each([
  [
    "has no deleteOnEnd",
    "update carillon.schedule_versions set body = body - 'deleteOnEnd' where schedule_id = $id",
  ],
  ["is deleted", "update carillon.schedules set deleted_at = carillon.clock() where id = $id"],
])("A schedule due for a check of its end that %s is not checked again", async (_, how) => {
  await lookAtAll();
  const id = await idOf(world, "b");
  await world.sql.unsafe(how.replace("$id", id));
  await endsByItself(endAll);
  const [row] = await world.sql`select end_look_at as at from carillon.schedules where id = ${id}`;
  expect(row).toEqual({ at: null });
  expect(await keysWhere(world, "end_look_at <= carillon.clock()")).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test.each([
  ["ended", "is due for a check of its end", "end_look_at <= carillon.clock()", lookAtAll, endAll],
  [
    "ended-hold",
    "has a hold that is over",
    "id in (select schedule_id from carillon.holds)",
    endHolds,
    clearHolds,
  ],
  [
    "plan",
    "is due for a retry of its plan",
    "id::text in (select item from carillon.quarantine)",
    planAgain,
    retryPlans,
  ],
] as const)(
  "A schedule without the row of its version is set aside under %s when it %s, and does not stop the others",
  async (consumer, _, isLeft, arrange, act) => {
    await arrange();
    const id = await loseVersionOf("b");
    await endsByItself(act);
    expect(await keysWhere(world, isLeft)).toEqual(["b"]);
    expect(await quarantined(world)).toMatchObject([{ consumer, item: id, reason: withoutVersion }]);
    expect(told(world).at(-1)).toEqual([consumer, id]);
  },
);

test.each([
  ["checks ended schedules", "schedules", lookAtAll, endAll],
  ["removes holds that are over", "holds", endHolds, clearHolds],
  ["retries plans in quarantine", "quarantine", planAgain, retryPlans],
] as const)(
  "The part of the tick that %s ends after a page that changed nothing",
  async (_, table, arrange, act) => {
    await arrange();
    await writesNothing(table);
    await endsByItself(act);
  },
);
