import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { grantedRights, rightsText, withRights } from "./database-rights.ts";
import { schemaDump } from "./schema-dump.ts";

/**
 * `npm run schema`: migrates a database of its own, and writes its schema and its rights for
 * readers and for the tests that compare them.
 */
const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-schema-"));
const server = await startPostgres({ dataDir, settings: { fsync: "off" } });
const sql = connect({ DATABASE_URL: server.url });
try {
  await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
  await writeFile(new URL("../fixtures/schema.sql", import.meta.url), await schemaDump(sql));
  const page = new URL("../../docs/database-roles.md", import.meta.url);
  const text = rightsText(await grantedRights(sql));
  await writeFile(page, withRights(await readFile(page, "utf8"), text));
} finally {
  await sql.end();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
