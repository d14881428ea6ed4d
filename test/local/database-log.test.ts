import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { serverParameters } from "../../infra/database/server-parameters.ts";
import { systemClock } from "../../lib/clock.ts";
import { connect } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { putSchedule } from "../../lib/edit/schedule-edits.ts";
import { silentLog } from "../../lib/log/log.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { ensureSealingKey } from "../../lib/sealing/first-key.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { testVault } from "../support/test-vault.ts";

/** The parameters that every server takes; RDS alone knows those with a prefix. */
const parameters = Object.fromEntries(
  Object.entries(serverParameters(20)).filter(([name]) => !name.startsWith("rds.")),
);

test("The database's log has the texts of slow and of failed statements, and neither secrets nor payloads", async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "carillon-log-"));
  // Each statement counts as a slow one.
  const settings = { ...parameters, log_min_duration_statement: "0", fsync: "off", shared_buffers: "16MB" };
  const server = await startPostgres({ dataDir, settings });
  const sql = connect({ DATABASE_URL: server.url });
  try {
    await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
    await ensureSealingKey(sql, testVault, "carillon");
    const read = () => readFileSync(path.join(dataDir, "server.log"), "utf8");
    const migrated = read().length;
    const target = {
      webhook: {
        url: "https://example.com/hook",
        secret: "whsec_c2VjcmV0LWluLXRoZS1sb2ctMjM0NTY3",
        headers: { authorization: "Bearer token-in-the-log" },
      },
    };
    await putSchedule(
      { sql, queue: memoryQueue(systemClock, silentLog) },
      {
        key: "invoice",
        body: parseScheduleBody({ when: "every 1d", target, payload: { iban: "payload-in-the-log" } }),
        caller: { name: "ann" },
      },
    );
    await expect(sql`select ${"parameter-in-the-log"}::text::integer`).rejects.toThrow("integer");

    const log = read().slice(migrated);
    expect(log).toMatch(/insert into \S*schedule_versions/);
    expect(log).toContain("duration: ");
    expect(log).toContain("select $1::text::integer");
    expect(log).not.toMatch(/c2VjcmV0|token-in-the-log|payload-in-the-log/);
    // The message of the error names the value that is no number. Nothing else of the log has a parameter.
    expect(log.split("\n").filter((line) => line.includes("parameter-in-the-log"))).toEqual([
      expect.stringContaining("ERROR:"),
    ]);
  } finally {
    await sql.end();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
