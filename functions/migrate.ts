import { LambdaClient } from "@aws-sdk/client-lambda";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import * as z from "zod";
import { systemClock } from "../lib/clock.ts";
import { awsClientSettings, sendingTimeouts } from "../lib/config/aws.ts";
import type { Environment } from "../lib/config/environment.ts";
import { type Assemble, type Invocation, onDemand } from "../lib/config/function.ts";
import { functionConnections } from "../lib/config/function-connections.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { migrationTime } from "../lib/config/migration-time.ts";
import { parsePrefixWeights } from "../lib/config/prefix-weights.ts";
import { parseQuotas } from "../lib/config/quota-setting.ts";
import { connect, type Sql } from "../lib/db/connect.ts";
import { limitApiConnections } from "../lib/db/migrate/api-connections.ts";
import { connectAsOwner, secretText } from "../lib/db/migrate/connect-as-owner.ts";
import { functionLogins } from "../lib/db/migrate/function-logins.ts";
import { type MigrateLimits, migrateOnce } from "../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../lib/db/migrate/migration.ts";
import { type Move, refuseEmptyDatabase, skipIdsAfterRestore } from "../lib/db/migrate/other-database.ts";
import { refuseTestClock } from "../lib/db/migrate/refuse-test-clock.ts";
import { defineQuotas } from "../lib/quota/define-quotas.ts";
import { defineWeights } from "../lib/quota/define-weights.ts";
import { ensureSealingKey } from "../lib/sealing/first-key.ts";
import type { VaultAccess } from "../lib/sealing/vault-request.ts";
import { callLimits } from "../lib/target/invoke-function.ts";
import { vaultBehind } from "../lib/target/vault-function.ts";
import { ensureAdminToken } from "../lib/token/token.ts";
import { isUnused } from "../lib/token/unused-database.ts";

/** CloudFormation sends numbers as text, and emulators of it as numbers. */
const count = z.preprocess(String, z.string().regex(/^[0-9]{1,6}$/)).transform(Number);

const connectionCounts = z.object({
  fastConcurrency: count,
  slowConcurrency: count,
  /** Those of everything else but the API. */
  others: count,
  /** The most that the API may have by the memory of the database. Absent: its memory is not known. */
  apiMost: count.optional(),
});

const properties = z.object({
  adminTokenSecret: z.string().min(1),
  /** The database's address. Older releases did not send it. */
  database: z.string().min(1).optional(),
  /** "true": another database may have no tables of Carillon. */
  mayBeEmpty: z.stringbool().default(false),
  quotas: z.array(z.string()).default([]),
  prefixWeights: z.array(z.string()).default([]),
  connections: connectionCounts.optional(),
});

/** The answer of the first call; the provider repeats it with each further call. */
const begun = z.object({ begunAt: z.iso.datetime(), state: z.enum(["done", "unfinished"]) });
const repeated = { Data: begun.optional() };

/** The event that CloudFormation sends through the provider in front of this function. */
const migrationEvent = z.discriminatedUnion("RequestType", [
  z.object({ RequestType: z.literal("Create"), ResourceProperties: properties, ...repeated }),
  z.object({
    RequestType: z.literal("Update"),
    ResourceProperties: properties,
    OldResourceProperties: properties.partial(),
    ...repeated,
  }),
  z.object({ RequestType: z.literal("Delete"), ...repeated }),
]);

export type MigrationEvent = z.input<typeof migrationEvent>;

/** The answer of the first call: when it began, and whether it is done. */
export interface MigrationBegun {
  PhysicalResourceId: string;
  Data: z.output<typeof begun>;
}

/** The answer of each further call. */
export interface MigrationAnswer {
  IsComplete: boolean;
}

// A constant: CloudFormation would treat another id as a replacement, and delete this resource.
const PhysicalResourceId = "carillon-migration";

/** The rest of the time is for closing connections, and for a statement that has just begun. */
const timeShare = 0.7;

/**
 * The provider calls the function until it answers that it is complete. Each invocation continues
 * where the last one stopped, so all migrations together may take longer than one invocation.
 */
export const assemble: Assemble<MigrationEvent, MigrationBegun | MigrationAnswer> = (env) => {
  const log = logFrom(env, "migrate");
  const secrets = new SecretsManagerClient({ requestHandler: sendingTimeouts });
  const directory = env["MIGRATIONS_DIRECTORY"] ?? migrationsDirectory;
  const onRds = env["DATABASE_URL"] === undefined;
  // One connection beyond the counted ones, to find the sessions that block a migration; it uses
  // one of those reserved for people.
  const options = {
    max: functionConnections.migration + 1,
    applicationName: "carillon migrate",
    // Migrations change the tables that a plan was made for, and no query repeats often.
    keepsPlans: false,
  };
  const vault = vaultFrom(env);
  const open = (): Promise<Sql> =>
    onRds ? connectAsOwner(env, secrets, options) : Promise.resolve(connect(env, options));

  /** Returns the remaining work in words, or undefined if there is none. */
  const bringUpToDate = async (event: Change, begunAt: string, invocation: Invocation) => {
    const sql = await open();
    try {
      await refuseTestClock(sql);
      const move = moveOf(event);
      if (move !== undefined && !event.ResourceProperties.mayBeEmpty) await refuseEmptyDatabase(sql, move);
      const run = await migrateOnce(
        { sql, log, clock: systemClock },
        await readMigrations(directory),
        limitsOf(event, begunAt, invocation),
      );
      if (run.left !== undefined) return run.left;
      // A newer release may have left roles that work with this release; they get the logins of
      // this one.
      if (onRds) await sql.begin(await functionLogins(env, secrets));
      if (run.ahead) {
        log.warn("migration.ahead");
        return undefined;
      }
      const { connections } = event.ResourceProperties;
      await limitApiConnections(sql, connectionsBesideApi(connections), connections?.apiMost);
      const wasUsed = !(await isUnused(sql));
      if (wasUsed && isElsewhere(event)) await skipIdsAfterRestore(sql);
      const { adminTokenSecret, quotas, prefixWeights } = event.ResourceProperties;
      if (takesFirstToken(event, wasUsed))
        await ensureAdminToken(sql, await secretText(secrets, adminTokenSecret));
      await defineQuotas(sql, parseQuotas(quotas));
      await defineWeights(sql, parsePrefixWeights(prefixWeights));
      if (vault !== null && (await ensureSealingKey(sql, vault, "carillon")) === "made again")
        log.warn("credentials.lost");
      return undefined;
    } finally {
      await sql.end();
    }
  };

  return {
    handler: async (input, invocation) => {
      const event = readEvent(input);
      const begunAt = event.Data?.begunAt ?? systemClock.now().toISOString();
      // The tables stay when this resource is deleted; the database's own stack decides about the
      // data.
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

/** Null where there is no function that sends webhooks, as in tests of the migration alone. */
function vaultFrom(env: Environment): VaultAccess | null {
  const name = env["WEBHOOK_FUNCTION"];
  if (name === undefined) return null;
  return vaultBehind(new LambdaClient({ ...awsClientSettings(env, "LAMBDA", callLimits) }), name);
}

type Change = Exclude<z.output<typeof migrationEvent>, { RequestType: "Delete" }>;

function limitsOf(event: Change, begunAt: string, invocation: Invocation): Partial<MigrateLimits> {
  const ofCall = invocation.getRemainingTimeInMillis() * timeShare;
  const ofDeployment = Math.max(0, givesUpAt(begunAt) - systemClock.now().getTime());
  return {
    runMs: Math.min(ofCall, ofDeployment),
    isCutShort: ofDeployment < ofCall,
    // A rollback calls the former release on a database that the newer release has already changed.
    mayBeOlder: event.RequestType === "Update",
  };
}

/**
 * A known first token is not created again: an operator may have deleted it, and a deployment must
 * not bring it back.
 */
function takesFirstToken(event: Change, wasUsed: boolean): boolean {
  if (event.RequestType === "Create") return true;
  if (event.ResourceProperties.adminTokenSecret !== event.OldResourceProperties.adminTokenSecret) return true;
  return moveOf(event) !== undefined && !wasUsed;
}

/** Null behind a proxy, which shares its connections. */
function connectionsBesideApi(counts: z.output<typeof connectionCounts> | undefined): number | null {
  if (counts === undefined) return null;
  const { worker, handlers } = functionConnections;
  return counts.fastConcurrency * worker + counts.slowConcurrency * (worker + handlers) + counts.others;
}

/** Whether the database was not this stack's before: it may be restored from a backup, also by a new stack. */
const isElsewhere = (event: Change) => event.RequestType === "Create" || moveOf(event) !== undefined;

/** Undefined where the deployment keeps its database. */
function moveOf(event: Change): Move | undefined {
  if (event.RequestType === "Create") return undefined;
  const { database: from } = event.OldResourceProperties;
  const { database: to } = event.ResourceProperties;
  return from === undefined || to === undefined || from === to ? undefined : { from, to };
}

function givesUpAt(begunAt: string): number {
  return Date.parse(begunAt) + migrationTime.givesUpAfterMinutes * 60_000;
}

function giveUpWhenLate(begunAt: string, left: string): void {
  if (systemClock.now().getTime() < givesUpAt(begunAt)) return;
  throw new Error(
    `After ${migrationTime.givesUpAfterMinutes} minutes the database is not at this release: ${left}. Applied migrations stay, and the next deployment continues from there.`,
  );
}

/** Names only the fields at fault, because the values must not appear in a log. */
function readEvent(input: unknown): z.output<typeof migrationEvent> {
  const read = migrationEvent.safeParse(input);
  if (read.success) return read.data;
  const paths = read.error.issues.map(({ path }) => path.join(".") || "the whole event");
  throw new Error(
    `The event is not one of CloudFormation's: ${[...new Set(paths)].join(", ")} is not valid.`,
  );
}

export const handler = onDemand(assemble);
