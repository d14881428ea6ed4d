import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { cancelLabel } from "../../lib/batch/cancel-label.ts";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { whileEdited } from "./while-edited.ts";

/**
 * A transaction that the database aborts because of a conflict with another one is retried, without
 * an error for its caller.
 */

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

/**
 * Aborts the next transaction that writes into the audit once, as the database does with one side
 * of a deadlock.
 */
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

test.each(acts)("%s is retried when it is the victim of a deadlock", async (_act, act, answer) => {
  // Otherwise the caller gets an error for a request that would succeed a moment later, and an edit
  // of a nightly batch is lost.
  await failOnce("40P01");
  expect(await act()).toMatchObject(answer);
  expect(await tries()).toBe(2);
});

test("the retry of a job is retried when it is the victim of a deadlock", async () => {
  await cancelJob(deps(), await job());
  await failOnce("40P01");
  expect(await retryJob(deps(), await job())).toMatchObject({ state: "waiting" });
  expect(await tries()).toBe(2);
});

test("an edit that fails for any other reason returns the error at once", async () => {
  // Otherwise it would be tried five times while claims and ticks wait for it.
  await failOnce("23514");
  await expect(world.patch("a", { payload: 1 })).rejects.toMatchObject({ code: "23514" });
  expect(await tries()).toBe(1);
});

test("a put in a batch creates its schedule again if that is deleted while the batch waits for it", async () => {
  // Otherwise the put is reported as done, or fails, and the schedule does not exist.
  const body = parseScheduleBody({ when: "every 1m", target: { queue: "demo" } });
  const put = (key: string) => ({ kind: "put", key, body, caller }) as const;
  const outcome = await whileEdited(world, "a", () => applyOperations(deps(), [put("a"), put("b")]), {
    before: (tx) => tx`update carillon.schedules set deleted_at = carillon.clock() where key = 'a'`,
  });
  expect(outcome).toMatchObject({ value: [{ change: "created" }, { change: "created" }] });
  const live = await world.sql`select key from carillon.schedules where deleted_at is null order by 1`;
  expect(live).toEqual([{ key: "a" }, { key: "b" }]);
});
