import { functionConnections } from "../../lib/config/function-connections.ts";
import type { Settings } from "../settings.ts";
import { instanceMemoryMiB } from "./class-memory.ts";
import {
  type Concurrency,
  type ConnectionKind,
  connectionsAtMost,
  connectionsByKind,
  KEPT_BACK,
  MINUTES_AT_ONCE,
} from "./functions-at-once.ts";

type MemorySettings = Concurrency & Pick<Settings, "database" | "databaseClass">;

/**
 * The memory of Postgres for one connection, beside the shared buffers: the catalog, and the plans of
 * the statements that were prepared. Measured with the functions' own statements, of the API with all
 * reads and the edits of schedules; the memory of handlers is assumed to be that of edits.
 */
export const CONNECTION_MIB: Readonly<Record<ConnectionKind, number>> = {
  api: 16,
  tick: 13,
  worker: 7,
  handlers: 10,
  ingest: 9,
  archive: 10,
  migration: 12,
};
/** Assumed for the operating system, RDS's agents, and the processes of Postgres itself. */
const SYSTEM_MIB = 256;
/** AWS names 300 to 1,000 MiB, by the class. */
const IAM_MIB = 300;
/** RDS's own default, of the memory that the system leaves. */
const BUFFERS_SHARE = 0.25;

/**
 * Refuses a class whose memory does not hold what the connections need. The fault would otherwise
 * appear only under load: the database swaps, and Postgres restarts when the memory is used up.
 * `proxied` is the largest number of connections that a proxy opens. Default: there is no proxy.
 */
export function checkMemoryBudget(settings: MemorySettings, proxied?: number): void {
  const memory = instanceMemoryMiB(settings);
  if (memory === undefined) return;
  const all = connectionsAtMost(settings);
  const connections = Math.min(all, proxied ?? all);
  const ofAll = memoryOf(settings);
  const wanted = Math.ceil((ofAll * connections) / all);
  const { buffers, offered } = dividedMemory(memory);
  if (wanted <= offered) return;
  const way = proxied === undefined ? fewerAtOnce() : fewerProxied(Math.floor((offered * all) / ofAll));
  throw new Error(
    `The functions may need ${mib(wanted)} of memory for ${connections} database connections at once, and a ${settings.databaseClass} has ${mib(offered)} for them: ` +
      `of its ${mib(memory)}, the buffers of Postgres take ${mib(buffers)}, IAM authentication ${mib(IAM_MIB)}, and the operating system with RDS ${mib(SYSTEM_MIB)}. ` +
      `Choose a databaseClass with at least ${leastGiB(wanted)} GiB, or ${way}.`,
  );
}

/**
 * The most connections of the API: half of the memory for connections, or the burst that the settings
 * allow. Requests that wait for locks hold theirs, and more than the burst may wait.
 */
export function apiConnectionsByMemory(settings: MemorySettings): number | undefined {
  const memory = instanceMemoryMiB(settings);
  if (memory === undefined) return undefined;
  const half = Math.floor(dividedMemory(memory).offered / 2 / CONNECTION_MIB.api);
  return Math.max(settings.apiRequestBurst * functionConnections.api, half);
}

/** The memory of the buffers, and that of the connections. */
function dividedMemory(memory: number): { buffers: number; offered: number } {
  const buffers = Math.round((memory - SYSTEM_MIB) * BUFFERS_SHARE);
  return { buffers, offered: Math.max(0, memory - SYSTEM_MIB - buffers - IAM_MIB) };
}

function memoryOf(settings: Concurrency): number {
  const { api, tick, worker, handlers, ingest, archive, migration } = connectionsByKind(settings);
  const each = CONNECTION_MIB;
  return (
    api * each.api +
    tick * each.tick +
    worker * each.worker +
    handlers * each.handlers +
    ingest * each.ingest +
    archive * each.archive +
    migration * each.migration
  );
}

/** The smallest memory that has room for this much beside the rest. */
function leastGiB(wanted: number): number {
  return Math.ceil((SYSTEM_MIB + (wanted + IAM_MIB) / (1 - BUFFERS_SHARE)) / 1_024);
}

function fewerAtOnce(): string {
  const each = (kind: ConnectionKind) => functionConnections[kind] * CONNECTION_MIB[kind];
  const saved = {
    apiRequestBurst: each("api"),
    slowConcurrency: each("worker") + each("handlers"),
    fastConcurrency: each("worker"),
    ingestConcurrency: each("ingest"),
    tickShards: MINUTES_AT_ONCE * each("tick"),
  };
  const named = Object.entries(saved).map(([name, amount]) => `${name} (${amount} MiB each)`);
  return `lower ${named.slice(0, -1).join(", ")} or ${named.at(-1)}`;
}

/** The proxy leaves some of the database's connections to engineers, and opens no more than the rest. */
function fewerProxied(fitting: number): string {
  return `set databaseMaxConnections to ${fitting + KEPT_BACK} at most`;
}

function mib(amount: number): string {
  return `${amount.toLocaleString("en")} MiB`;
}
