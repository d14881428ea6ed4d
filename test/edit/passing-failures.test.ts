import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { cancelLabel } from "../../lib/batch/cancel-label.ts";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { whileEdited } from "./while-edited.ts";

/** What the database ends because two transactions stood in each other's way is done again, and its caller hears nothing of it. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.put("a", { when: "in 1m", group: "g" });
  await world.tick();
  await world.clock.advance(minute);
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const job = async () => {
  const [row] = await world.sql<{ id: string }[]>`
    select schedule_id || '-' || (extract(epoch from occurrence) * 1000)::bigint || '-c0' as id from carillon.jobs`;
  return { id: row?.id ?? "", caller };
};

/** The next transaction that writes into the audit is ended once, as the database does with one of two that wait for each other. */
async function failOnce(code: string): Promise<void> {
  await world.sql.unsafe(`
    create sequence tries;
    grant usage on sequence tries to public;
    create function fail_once() returns trigger language plpgsql as $$ begin
      if new.action <> 'group.cancelled' and nextval('public.tries') = 1 then
        raise exception 'one of two' using errcode = '${code}';
      end if;
      return new; end $$;
    create trigger fail_once before insert on carillon.audit for each row execute function fail_once()`);
}

const tries = async () =>
  (await world.sql<{ last: number }[]>`select last_value::int as last from tries`)[0]?.last;

const acts: readonly [string, () => Promise<unknown>, object][] = [
  ["the edit", () => world.patch("a", { payload: 1 }), { change: "changed" }],
  [
    "the batch",
    async () => (await applyOperations(deps(), [{ kind: "delete", key: "a", caller }]))[0],
    { change: "deleted" },
  ],
  ["the cancel of a job", async () => (await cancelJob(deps(), await job())).job, { state: "cancelled" }],
  [
    "the cancel of a group",
    () => cancelLabel(deps(), { label: { scope: "group", name: "g" }, caller }),
    { done: 1 },
  ],
];

test.each(acts)("%s that is the victim of a deadlock is done in another try", async (_act, act, answer) => {
  // Else the caller gets an error for what a second call would do, and an edit of a night's batch is lost.
  await failOnce("40P01");
  expect(await act()).toMatchObject(answer);
  expect(await tries()).toBe(2);
});

test("the retry of a job that is the victim of a deadlock is done in another try", async () => {
  await cancelJob(deps(), await job());
  await failOnce("40P01");
  expect(await retryJob(deps(), await job())).toMatchObject({ state: "waiting" });
  expect(await tries()).toBe(2);
});

test("the edit that fails for any other reason is told so at once", async () => {
  // Else it would be tried five times while claims and ticks wait for it.
  await failOnce("23514");
  await expect(world.patch("a", { payload: 1 })).rejects.toMatchObject({ code: "23514" });
  expect(await tries()).toBe(1);
});

test("the batch whose schedule is deleted while it waits makes it anew", async () => {
  // Else the put is answered as done, or fails, and there is no such schedule.
  const body = parseScheduleBody({ when: "every 1m", target: { queue: "demo" } });
  const put = (key: string) => ({ kind: "put", key, body, caller }) as const;
  const outcome = await whileEdited(world, "a", () => applyOperations(deps(), [put("a"), put("b")]), {
    before: (tx) => tx`update carillon.schedules set deleted_at = carillon.clock() where key = 'a'`,
  });
  expect(outcome).toMatchObject({ value: [{ change: "created" }, { change: "created" }] });
  const standing = await world.sql`select key from carillon.schedules where deleted_at is null order by 1`;
  expect(standing).toEqual([{ key: "a" }, { key: "b" }]);
});
