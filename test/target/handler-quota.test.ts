import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

test("A handler's edit beyond a quota fails its job with the reason, and the job commits nothing", async () => {
  const later = { when: "every 1h", target: { handler: "edits" } };
  const edits = defineJob({
    name: "edits",
    payload: z.unknown(),
    run: async (_, { schedule }) => {
      schedule.put("shop:1", later);
      for (const n of [1, 2]) schedule.put(`billing:${n}`, later);
    },
  });
  world = await handlerWorld(edits);
  await defineQuotas(world.sql, parseQuotas(["billing:=schedules=1"]));
  await world.put("own", { when: "in 10s", target: { handler: "edits" } });
  await world.clock.advance(10 * second);
  await world.runDue();
  const [job] = await world.jobs("own");
  expect(job).toMatchObject({ state: "waiting", attempt: 1 });
  expect(job?.error).toContain('the prefix "billing:" would have 2 schedules');
  const keys = await world.sql`select key from carillon.schedules where deleted_at is null`;
  expect(keys).toEqual([{ key: "own" }]);
});
