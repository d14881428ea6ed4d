import { functionConnections } from "../../lib/config/function-connections.ts";
import type { Settings } from "../settings.ts";

export type Concurrency = Pick<
  Settings,
  | "tickShards"
  | "fastConcurrency"
  | "slowConcurrency"
  | "ingestConcurrency"
  | "apiRequestBurst"
  | "archiveBucket"
>;

export type ConnectionKind = keyof typeof functionConnections;

/**
 * Five that Postgres and RDS reserve for administrators, and five for RDS's own agents and for an
 * engineer who investigates.
 */
export const KEPT_BACK = 10;
/** Ticks that hang may still hold their connections when those of the next minute begin. */
export const MINUTES_AT_ONCE = 2;

/**
 * The connections of each kind when every function runs at the highest concurrency that the settings
 * allow.
 */
export function connectionsByKind(settings: Concurrency): Readonly<Record<ConnectionKind, number>> {
  const { api, tick, worker, handlers, ingest, archive, migration } = functionConnections;
  return {
    api: settings.apiRequestBurst * api,
    tick: MINUTES_AT_ONCE * settings.tickShards * tick,
    worker: (settings.fastConcurrency + settings.slowConcurrency) * worker,
    handlers: settings.slowConcurrency * handlers,
    ingest: settings.ingestConcurrency * ingest,
    archive: settings.archiveBucket === undefined ? 0 : archive,
    migration,
  };
}

/** The number of all these connections. */
export function connectionsAtMost(settings: Concurrency): number {
  return Object.values(connectionsByKind(settings)).reduce((sum, count) => sum + count, 0);
}
