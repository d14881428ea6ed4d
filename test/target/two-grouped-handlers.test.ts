import { expect, test } from "vitest";
import { z } from "zod";
import { connect } from "../../lib/db/connect.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { done } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";

test("a group's jobs run with the handler that each of them names, also if one parcel holds jobs of two", async () => {
  // Otherwise one handler gets the other's jobs, and they count as done.
  const ran: string[] = [];
  const grouped = (name: string) =>
    defineJob({
      name,
      payload: z.unknown(),
      grouped: true,
      run: async (jobs) => void ran.push(...jobs.map(({ key }) => `${name} ${key}`)),
    });
  const [clock, log] = [manualClock(monday), recordedLog()];
  // No server listens there: nothing here needs a database.
  const sql = connect({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  const deliver = handlerTarget({
    handlers: [grouped("bill"), grouped("ship")],
    clock,
    log,
    sql,
    transactions: sql,
    queue: memoryQueue(clock, log),
    notify: [],
  });
  const jobs = ["bill", "ship"].map((handler, n) =>
    claimedJob({ handler }, { group: "order:1", key: `to-${handler}`, n }),
  );
  expect(await deliver(jobs, deliveryContext())).toEqual([done, done]);
  expect(ran.sort()).toEqual(["bill to-bill", "ship to-ship"]);
});
