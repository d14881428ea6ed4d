import { afterEach, beforeEach, expect, test } from "vitest";
import { applyWantedHolds } from "../../lib/edit/wanted-holds.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a hold that cannot be set is set aside, and keeps no other schedule from being held", async () => {
  // Otherwise one schedule that cannot be held lets all the others go on against targets that want
  // no more jobs.
  world.outcome = () => failed("no");
  for (const key of ["bad", "good"]) {
    await world.put(key, { when: "every 1m", retry: { attempts: 1 }, holdAfter: 1 });
    await world.clock.advance(second);
  }
  await world.tick();
  await world.clock.setNow(at(minute));
  await world.work();
  await world.clock.advance(second);
  await world.work();
  await world.sql.unsafe(`
    create function refuse_bad() returns trigger language plpgsql as $$ begin
      if new.subject = 'bad' then raise exception 'not this one'; end if;
      return new; end $$;
    create trigger refuse_bad before insert on carillon.audit for each row execute function refuse_bad()`);
  const deps = { sql: world.sql, queue: world.queue, log: world.log };
  await applyWantedHolds(deps, {});
  const held = await world.sql`select key from carillon.schedules where held_since is not null`;
  expect(held).toEqual([{ key: "good" }]);
  await world.sql.unsafe("drop trigger refuse_bad on carillon.audit");
  await world.clock.advance(minute);
  await applyWantedHolds(deps, {});
  const heldLater =
    await world.sql`select key from carillon.schedules where held_since is not null order by key`;
  expect(heldLater).toEqual([{ key: "bad" }, { key: "good" }]);
});
