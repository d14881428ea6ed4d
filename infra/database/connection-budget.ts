import { functionConnections } from "../../lib/config/function-connections.ts";
import type { Settings } from "../settings.ts";
import { memoryGiB } from "./class-memory.ts";
import { type Concurrency, connectionsAtMost, connectionsByKind, KEPT_BACK } from "./functions-at-once.ts";
import { apiConnectionsByMemory, checkMemoryBudget } from "./memory-budget.ts";

export type BudgetSettings = Concurrency &
  Pick<
    Settings,
    | "database"
    | "databaseClass"
    | "databaseMaxConnections"
    | "databaseCapacityMin"
    | "databaseCapacityMax"
    | "databaseProxy"
  >;

/**
 * RDS allows one connection for each 9.5 MB of the memory that it leaves to Postgres. This number
 * is slightly less than one for each 9.5 MB of the whole memory.
 */
const CONNECTIONS_PER_GIB = 100;
const CONNECTIONS_MAX = 5_000;
/** Aurora's upper limit where the cluster may shrink below one capacity unit. */
const CONNECTIONS_OF_SMALL_MAX = 2_000;
const GIB_PER_CAPACITY_UNIT = 2;

/**
 * How many connections the database accepts: the number that is set, else the number that its
 * memory allows at its largest size. The memory of a database that was made elsewhere is not known.
 */
export function maxConnections(settings: BudgetSettings): number {
  if (settings.databaseMaxConnections !== undefined) return settings.databaseMaxConnections;
  if (settings.database === "aurora") {
    const most = settings.databaseCapacityMin < 1 ? CONNECTIONS_OF_SMALL_MAX : CONNECTIONS_MAX;
    return Math.min(most, settings.databaseCapacityMax * GIB_PER_CAPACITY_UNIT * CONNECTIONS_PER_GIB);
  }
  if (settings.database !== "rds")
    throw new Error(`databaseMaxConnections: an ${settings.database} database needs it`);
  const memory = memoryGiB(settings.databaseClass);
  if (memory === undefined)
    throw new Error(
      `databaseClass: the memory of "${settings.databaseClass}" is not known here; set databaseMaxConnections to the number of connections that it accepts.`,
    );
  return Math.min(CONNECTIONS_MAX, memory * CONNECTIONS_PER_GIB);
}

/**
 * The connections that the migration keeps free of the API, in parts: the plain template knows no sums.
 * Undefined behind a proxy, which shares its connections.
 */
export function connectionsBesideApi(settings: BudgetSettings): ConnectionsBesideApi | undefined {
  if (settings.databaseProxy) return undefined;
  const { fastConcurrency, slowConcurrency } = settings;
  const { tick, ingest, archive, migration } = connectionsByKind(settings);
  const apiMost = apiConnectionsByMemory(settings);
  return {
    fastConcurrency,
    slowConcurrency,
    others: tick + ingest + archive + migration + KEPT_BACK,
    ...(apiMost === undefined ? {} : { apiMost }),
  };
}

export interface ConnectionsBesideApi {
  readonly fastConcurrency: number;
  readonly slowConcurrency: number;
  /** Those of everything else but the API, and those that no function takes. */
  readonly others: number;
  /** The most that the API may have by the memory of the database. Undefined: its memory is not known. */
  readonly apiMost?: number;
}

/**
 * Refuses settings whose concurrency exceeds the database's connections or its memory. The fault would
 * otherwise appear only under load, as functions that cannot connect.
 */
export function checkConnectionBudget(settings: BudgetSettings): void {
  if (settings.databaseProxy) {
    const shared = sharedByProxy(settings);
    checkHandlersOfProxy(settings, shared);
    checkMemoryBudget(settings, shared + functionConnections.migration);
  } else {
    checkDirectBudget(settings);
    checkMemoryBudget(settings);
  }
}

function checkDirectBudget(settings: BudgetSettings): void {
  const [wanted, offered] = [connectionsAtMost(settings), maxConnections(settings) - KEPT_BACK];
  if (wanted <= offered) return;
  throw new Error(
    `The functions may need ${wanted} database connections at once, and the database has ${offered} for them. ` +
      "Lower slowConcurrency (four each), fastConcurrency or ingestConcurrency (two each), apiRequestBurst (one each) or tickShards (six each), or choose a databaseClass or databaseCapacityMax with more memory.",
  );
}

/**
 * The share of the database's connections that the proxy may open. The reserved ones and the
 * migration's stay outside of it.
 */
export function proxyConnectionsPercent(connections: number): number {
  return Math.floor((100 * (connections - KEPT_BACK - functionConnections.migration)) / connections);
}

function sharedByProxy(settings: BudgetSettings): number {
  const connections = maxConnections(settings);
  return Math.floor((connections * proxyConnectionsPercent(connections)) / 100);
}

/**
 * Behind a proxy a function holds a connection only during a transaction. Most transactions take
 * milliseconds, so the next function waits briefly for a connection; those of handlers take as long
 * as their code. Handlers may hold half of all connections, so that another one is always free
 * soon.
 */
function checkHandlersOfProxy(settings: BudgetSettings, shared: number): void {
  const held = settings.slowConcurrency * functionConnections.handlers;
  if (held * 2 <= shared) return;
  throw new Error(
    `Handlers may hold ${held} database connections at once in their own transactions, more than half of the ${shared} that the proxy shares; other functions would wait for them. ` +
      "Lower slowConcurrency (two each), or choose a databaseClass or databaseCapacityMax with more memory.",
  );
}
