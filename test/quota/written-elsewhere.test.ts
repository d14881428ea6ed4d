import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { quotasOf } from "../../lib/quota/read-quotas.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "../history/recheck-world.ts";
import { minute } from "../support/instants.ts";

let world: RecheckWorld;
beforeAll(async () => {
  world = await recheckWorld();
});
afterAll(() => world.stop());

test("A recheck stores the payload of its fire again, and takes it from the day", async () => {
  const { sql, queue } = world;
  await defineQuotas(sql, parseQuotas(["check:=payloadBytesPerDay=44"]));
  const key = "check:order";
  await world.put(key, { when: "every 1h", ...handler });
  const fire = () => fireNow({ sql, queue }, { key, payload: "10 bytes", caller: { name: "ann" } });
  world.answers.set(key, [again(10 * minute)]);
  await fire();
  await world.work();
  const [read] = await sql.begin((tx) => quotasOf(tx, ["check:"], []));
  expect(read?.payloadBytesPerDay.used).toBe(39);
  await expect(fire()).rejects.toThrow("would have 49 bytes of payloads and targets written today");
  await world.workAt(10 * minute);
  expect(world.delivered.map(({ payload }) => payload)).toEqual(["10 bytes", "10 bytes"]);
});
