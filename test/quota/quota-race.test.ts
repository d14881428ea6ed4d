import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuotas } from "../../lib/config/quota-setting.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { putSchedule } from "../../lib/edit/schedule-edits.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
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

/** Starts these together, so that each is checked while no other has written yet. */
async function atOnce(table: string, start: (n: number) => Promise<unknown>): Promise<string[]> {
  const started = await sql.begin(async (tx) => {
    // Each is checked before it inserts a row here.
    await tx.unsafe(`lock table ${table} in share mode`);
    const all = Array.from({ length: edits }, (_, n) =>
      start(n).then(
        () => "stored",
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      ),
    );
    await until("each waits", async () => (await waitingLocks(sql)) === edits);
    return all;
  });
  return Promise.all(started);
}

function expectOne(answers: readonly string[], refusal: string): void {
  expect(answers.filter((answer) => answer === "stored")).toHaveLength(1);
  expect(answers.filter((answer) => answer.includes(refusal))).toHaveLength(edits - 1);
}

const bodyWith = (payload: string | null) =>
  parseScheduleBody({ when: "every 1h", target: { queue: "demo" }, payload });

const put = (key: string, payload: string | null = null) =>
  putSchedule({ sql, queue: world.queue }, { key, body: bodyWith(payload), caller: { name: "ann" } });

test("Edits that are checked at the same time take the last room of a quota once", async () => {
  await defineQuotas(sql, parseQuotas(["last:=schedules=1"]));
  expectOne(await atOnce("carillon.schedule_versions", (n) => put(`last:${n}`)), "2 schedules");
});

test("Payloads that are written at the same time take the last room of a day once", async () => {
  await defineQuotas(sql, parseQuotas(["day:=payloadBytesPerDay=30"]));
  expectOne(
    await atOnce("carillon.schedule_versions", (n) => put(`day:${n}`, "10 bytes")),
    "52 bytes of payloads and targets written today",
  );
});

test("Fires with payloads of their own that are checked at the same time take the last room of a day once", async () => {
  // Their prefix has no quota yet, so these count nothing.
  for (let n = 0; n < edits; n++) await put(`fire:${n}`);
  await defineQuotas(sql, parseQuotas(["fire:=payloadBytesPerDay=15"]));
  const fire = (n: number) =>
    fireNow({ sql, queue: world.queue }, { key: `fire:${n}`, payload: "10 bytes", caller: { name: "ann" } });
  expectOne(await atOnce("carillon.parcels", fire), "20 bytes of payloads and targets written today");
});
