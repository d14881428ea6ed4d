import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { z } from "zod";
import { type Assemble, onDemand } from "../lib/config/function.ts";
import { connect, type Sql } from "../lib/db/connect.ts";
import { connectAsOwner, secretText } from "../lib/db/connect-as-owner.ts";
import { functionLogins } from "../lib/db/function-logins.ts";
import { migrate, migrationsDirectory, readMigrations } from "../lib/db/migrate.ts";
import { logFrom } from "../lib/log/log-from.ts";
import { ensureAdminToken } from "../lib/token/token.ts";

const tokenProperty = z.object({ adminTokenSecret: z.string().min(1) });

/** What CloudFormation, through the provider in front of this function, says of the resource. */
const migrationEvent = z.discriminatedUnion("RequestType", [
  z.object({ RequestType: z.literal("Create"), ResourceProperties: tokenProperty }),
  z.object({
    RequestType: z.literal("Update"),
    ResourceProperties: tokenProperty,
    OldResourceProperties: tokenProperty.partial(),
  }),
  z.object({ RequestType: z.literal("Delete") }),
]);

export type MigrationEvent = z.input<typeof migrationEvent>;
export interface MigrationResult {
  PhysicalResourceId: string;
  Data: { applied: number };
}

// Always the same: CloudFormation takes another for a replacement and would delete this one.
const PhysicalResourceId = "carillon-migration";

export const assemble: Assemble<MigrationEvent, MigrationResult> = (env) => {
  const log = logFrom(env, "migrate");
  const secrets = new SecretsManagerClient({});
  const directory = env["MIGRATIONS_DIRECTORY"] ?? migrationsDirectory;
  const onRds = env["DATABASE_URL"] === undefined;
  const open = (): Promise<Sql> =>
    onRds
      ? connectAsOwner(env, secrets, { applicationName: "carillon migrate" })
      : Promise.resolve(connect(env));

  return {
    handler: async (input) => {
      const event = readEvent(input);
      // The tables stay when the resource goes: whether the data goes is decided where the database is.
      if (event.RequestType === "Delete") return { PhysicalResourceId, Data: { applied: 0 } };

      const { adminTokenSecret } = event.ResourceProperties;
      const known = event.RequestType === "Update" ? event.OldResourceProperties.adminTokenSecret : undefined;
      const sql = await open();
      try {
        const { applied } = await migrate(sql, await readMigrations(directory), log);
        if (onRds) await sql.begin(await functionLogins(env, secrets));
        // Only a secret that is new: a first token that somebody has deleted since must not come back with each deployment.
        if (adminTokenSecret !== known)
          await ensureAdminToken(sql, await secretText(secrets, adminTokenSecret));
        return { PhysicalResourceId, Data: { applied: applied.length } };
      } finally {
        await sql.end();
      }
    },
    close: async () => secrets.destroy(),
  };
};

/** Says what is wrong by the names of fields alone: the values are nobody's business in a log. */
function readEvent(input: unknown): z.output<typeof migrationEvent> {
  const read = migrationEvent.safeParse(input);
  if (read.success) return read.data;
  const paths = read.error.issues.map(({ path }) => path.join(".") || "the whole");
  throw new Error(
    `The event is none of CloudFormation's: ${[...new Set(paths)].join(", ")} is not understood.`,
  );
}

export const handler = onDemand(assemble);
