import { afterEach, beforeEach, expect, test } from "vitest";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const claim = async (key: string) =>
  claimParcel(world.sql, (await world.jobs(key))[0]?.parcelId ?? "0", minute);

test("a fired job runs before the later jobs of its serial group, in any order of messages", async () => {
  // Otherwise two jobs of one order run in the wrong order: the first fired comes last.
  const serial = { group: "order:1", serial: true };
  await world.put("fired", { when: "every 1d", ...serial });
  await world.put("later", { when: `at ${at(minute + second).toISOString()}`, ...serial });
  await world.tick();
  await world.clock.setNow(at(minute));
  await fireNow({ sql: world.sql, queue: world.queue }, { key: "fired", caller: { name: "ann" } });
  await world.clock.advance(second);
  expect(await claim("later")).toMatchObject({ outcome: "empty" });
  const fired = await claim("fired");
  if (fired.outcome !== "claimed") throw new Error(`The fired job is ${fired.outcome}.`);
  const { outgoing } = await settleParcel(world.sql, fired, [{ kind: "succeeded" }]);
  expect(outgoing).toHaveLength(1);
  expect(await claim("later")).toMatchObject({ outcome: "claimed" });
});
