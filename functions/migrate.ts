import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import * as z from "zod";
import { systemClock } from "../lib/clock.ts";
import { sendingTimeouts } from "../lib/config/aws.ts";
import { type Assemble, type Invocation, onDemand } from "../lib/config/function.ts";
import { functionConnections } from "../lib/config/function-connections.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { migrationTime } from "../lib/config/migration-time.ts";
import { connect, type Sql } from "../lib/db/connect.ts";
import { connectAsOwner, secretText } from "../lib/db/migrate/connect-as-owner.ts";
import { functionLogins } from "../lib/db/migrate/function-logins.ts";
import { type MigrateLimits, migrateOnce } from "../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../lib/db/migrate/migration.ts";
import { ensureAdminToken } from "../lib/token/token.ts";
import { isUnused } from "../lib/token/unused-database.ts";

const properties = z.object({
  adminTokenSecret: z.string().min(1),
  /** Where the database is. Releases of before did not say. */
  database: z.string().min(1).optional(),
});

/** What the first call answered; with it the provider asks again. */
const begun = z.object({ begunAt: z.iso.datetime(), state: z.enum(["done", "unfinished"]) });
const askedAgain = { Data: begun.optional() };

/** What CloudFormation, through the provider in front of this function, says of the resource. */
const migrationEvent = z.discriminatedUnion("RequestType", [
  z.object({ RequestType: z.literal("Create"), ResourceProperties: properties, ...askedAgain }),
  z.object({
    RequestType: z.literal("Update"),
    ResourceProperties: properties,
    OldResourceProperties: properties.partial(),
    ...askedAgain,
  }),
  z.object({ RequestType: z.literal("Delete"), ...askedAgain }),
]);

export type MigrationEvent = z.input<typeof migrationEvent>;

/** Of the first call: when it began, and how far it came. */
export interface MigrationBegun {
  PhysicalResourceId: string;
  Data: z.output<typeof begun>;
}

/** Of each call after it. */
export interface MigrationAnswer {
  IsComplete: boolean;
}

// Always the same: CloudFormation takes another for a replacement and would delete this one.
const PhysicalResourceId = "carillon-migration";

/** The rest is for connections to close and for what a statement takes that was begun just before. */
const timeShare = 0.7;

/**
 * The provider calls it once, and then again and again until it says that it is complete: so all migrations together may take longer than one
 * invocation, each of which goes on where the last one stopped.
 */
export const assemble: Assemble<MigrationEvent, MigrationBegun | MigrationAnswer> = (env) => {
  const log = logFrom(env, "migrate");
  const secrets = new SecretsManagerClient({ requestHandler: sendingTimeouts });
  const directory = env["MIGRATIONS_DIRECTORY"] ?? migrationsDirectory;
  const onRds = env["DATABASE_URL"] === undefined;
  // One more than is counted: to see who is in the way, one of those will do that are kept back for people.
  const options = {
    max: functionConnections.migration + 1,
    applicationName: "carillon migrate",
    // It changes what a plan was made for, and asks nothing often.
    keepsPlans: false,
  };
  const open = (): Promise<Sql> =>
    onRds ? connectAsOwner(env, secrets, options) : Promise.resolve(connect(env, options));

  /** Answers with what is left to be done, in words. */
  const bringUpToDate = async (event: Change, begunAt: string, invocation: Invocation) => {
    const sql = await open();
    try {
      const run = await migrateOnce(
        { sql, log, clock: systemClock },
        await readMigrations(directory),
        limitsOf(event, begunAt, invocation),
      );
      if (run.left !== undefined) return run.left;
      // What a newer release has left so that this one works with it has this one's roles, and they get the logins of this one.
      if (onRds) await sql.begin(await functionLogins(env, secrets));
      if (run.ahead) log.warn("migration.ahead");
      else if (await takesFirstToken(event, sql)) {
        const { adminTokenSecret } = event.ResourceProperties;
        await ensureAdminToken(sql, await secretText(secrets, adminTokenSecret));
      }
      return undefined;
    } finally {
      await sql.end();
    }
  };

  return {
    handler: async (input, invocation) => {
      const event = readEvent(input);
      const begunAt = event.Data?.begunAt ?? systemClock.now().toISOString();
      // The tables stay when the resource goes: whether the data goes is decided where the database is.
      const done = event.RequestType === "Delete" || event.Data?.state === "done";
      const left = done ? undefined : await bringUpToDate(event, begunAt, invocation);
      if (left !== undefined) {
        log.warn("migration.unfinished", { left });
        giveUpWhenLate(begunAt, left);
      }
      if (event.Data !== undefined) return { IsComplete: left === undefined };
      return { PhysicalResourceId, Data: { begunAt, state: left === undefined ? "done" : "unfinished" } };
    },
    close: async () => secrets.destroy(),
  };
};

type Change = Exclude<z.output<typeof migrationEvent>, { RequestType: "Delete" }>;

function limitsOf(event: Change, begunAt: string, invocation: Invocation): Partial<MigrateLimits> {
  const ofCall = invocation.getRemainingTimeInMillis() * timeShare;
  const ofDeployment = Math.max(0, givesUpAt(begunAt) - systemClock.now().getTime());
  return {
    runMs: Math.min(ofCall, ofDeployment),
    isCutShort: ofDeployment < ofCall,
    // A stack that is rolled back calls its former release on a database that the newer one has changed already.
    mayBeOlder: event.RequestType === "Update",
  };
}

/** Not a token that is known: a first one that somebody has deleted since must not come back with each deployment. */
async function takesFirstToken(event: Change, sql: Sql): Promise<boolean> {
  if (event.RequestType === "Create") return true;
  const { ResourceProperties: wanted, OldResourceProperties: known } = event;
  if (wanted.adminTokenSecret !== known.adminTokenSecret) return true;
  return known.database !== undefined && known.database !== wanted.database && isUnused(sql);
}

function givesUpAt(begunAt: string): number {
  return Date.parse(begunAt) + migrationTime.givesUpAfterMinutes * 60_000;
}

function giveUpWhenLate(begunAt: string, left: string): void {
  if (systemClock.now().getTime() < givesUpAt(begunAt)) return;
  throw new Error(
    `After ${migrationTime.givesUpAfterMinutes} minutes the database is not at this release: ${left}. What was applied stands, and the next deployment goes on from there.`,
  );
}

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
