import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { putSchedule } from "../../lib/edit/schedule-edits.ts";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

const edits = 4;

let world: Carillon;
/** A connection for each edit, one for the table's lock, and one that counts. */
let sql: Sql;
beforeAll(async () => {
  world = await carillon();
  sql = connect({ DATABASE_URL: world.databaseUrl }, { max: edits + 2 });
});
afterAll(async () => {
  await sql.end();
  await world.stop();
});

test("Edits that are checked at the same time take the last room of a quota once", async () => {
  await defineQuotas(sql, parseQuotas(["last:=schedules=1"]));
  const body = parseScheduleBody({ when: "every 1h", target: { queue: "demo" } });
  const put = (n: number) =>
    putSchedule({ sql, queue: world.queue }, { key: `last:${n}`, body, caller: { name: "ann" } }).then(
      () => "stored",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  const puts = await sql.begin(async (tx) => {
    // An edit is checked before it inserts a version.
    await tx`lock table carillon.schedule_versions in share mode`;
    const started = Array.from({ length: edits }, (_, n) => put(n));
    await until("each edit waits", async () => (await waitingLocks(sql)) === edits);
    return started;
  });
  const answers = await Promise.all(puts);
  expect(answers.filter((answer) => answer === "stored")).toHaveLength(1);
  expect(answers.filter((answer) => answer.includes("2 schedules"))).toHaveLength(edits - 1);
});
