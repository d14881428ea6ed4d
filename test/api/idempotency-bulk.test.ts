import { expect, test } from "vitest";
import type { Moment } from "../crash/fuse.ts";
import { type Asked, keyedWorld } from "./idempotency-world.ts";

const keys = ["crm:a", "crm:bad", "crm:c", "crm:d"];

const asked: Asked = {
  method: "POST",
  path: "/v1/schedules:pause",
  body: { filter: { prefix: "crm:" }, reason: "migration" },
  headers: { "idempotency-key": "the-one" },
};

/** A bulk pause of schedules of which one cannot be written, in a process that dies at the moment. */
async function work(moment?: Moment) {
  const world = await keyedWorld(moment);
  await world.send({
    method: "POST",
    path: "/v1/schedules:batch",
    body: { operations: keys.map((key) => ({ put: { key, when: "every 1h", target: { queue: "demo" } } })) },
  });
  await world.sql.unsafe(`
    create function carillon.break_keys() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger break_keys before update on carillon.schedules for each row when (new.key = 'crm:bad')
      execute function carillon.break_keys()`);
  let answer = await world.sendToDoomed(asked);
  while (answer === null || answer.status === 409) {
    await world.clock.advance(36_000);
    answer = await world.send(asked);
  }
  const [row] = await world.sql<{ versions: number; entries: number }[]>`
    select (select count(*)::int from carillon.schedule_versions) as versions,
      (select count(*)::int from carillon.audit where action = 'schedules.paused' and detail ? 'done') as entries`;
  const moments = world.fuse.operations
    .filter(({ label, lasts }) => lasts && / commit\b/.test(label))
    .map((operation): Moment => ({ ...operation, side: "after" }));
  await world.close();
  return { answer: answer.json, row, moments };
}

test("A bulk action with an Idempotency-Key is completed by a retry after a crash, each schedule once, with one entry", async () => {
  const whole = await work();
  expect(whole.answer).toMatchObject({ done: 3, unchanged: 0, failed: 1, failures: [{ key: "crm:bad" }] });
  expect(whole.row).toEqual({ versions: keys.length + 3, entries: 1 });
  expect(whole.moments.length).toBeGreaterThan(4);
  for (const moment of whole.moments) {
    const { answer, row } = await work(moment);
    const at = `${moment.side} ${moment.label} (${moment.nth})`;
    expect(answer, at).toEqual(whole.answer);
    expect(row, at).toEqual(whole.row);
  }
});
