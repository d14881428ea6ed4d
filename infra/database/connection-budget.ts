import { functionConnections } from "../../lib/config/function-connections.ts";
import type { Settings } from "../settings.ts";

type Concurrency = Pick<
  Settings,
  | "tickShards"
  | "fastConcurrency"
  | "slowConcurrency"
  | "ingestConcurrency"
  | "apiRequestBurst"
  | "archiveBucket"
>;
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

/** RDS itself reckons with 9.5 MB for a connection, of what it leaves of the class's memory: this is a little less than that of all. */
const CONNECTIONS_PER_GIB = 100;
const CONNECTIONS_MAX = 5_000;
/** What Aurora takes at most where it may shrink to less than one capacity unit. */
const CONNECTIONS_OF_SMALL_MAX = 2_000;
const GIB_PER_CAPACITY_UNIT = 2;
/** Five that Postgres and RDS keep for their administrators, and five for RDS's own agents and for whoever looks what is wrong. */
const KEPT_BACK = 10;
/** Ticks that hang may still hold their connections when those of the next minute begin. */
const MINUTES_AT_ONCE = 2;

/** How many connections the database takes: as many as are set, else as many as it has memory for, at its largest. */
export function maxConnections(settings: BudgetSettings): number {
  if (settings.databaseMaxConnections !== undefined) return settings.databaseMaxConnections;
  if (settings.database === "aurora") {
    const most = settings.databaseCapacityMin < 1 ? CONNECTIONS_OF_SMALL_MAX : CONNECTIONS_MAX;
    return Math.min(most, settings.databaseCapacityMax * GIB_PER_CAPACITY_UNIT * CONNECTIONS_PER_GIB);
  }
  const memory = memoryGiB(settings.databaseClass);
  if (memory === undefined)
    throw new Error(
      `databaseClass: how much memory "${settings.databaseClass}" has is not known here; say in databaseMaxConnections how many connections it shall take.`,
    );
  return Math.min(CONNECTIONS_MAX, memory * CONNECTIONS_PER_GIB);
}

/** How many connections there may be when every function runs as often at once as the settings allow. */
export function connectionsAtMost(settings: Concurrency): number {
  const { api, tick, worker, handlers, ingest, archive, migration } = functionConnections;
  return (
    settings.apiRequestBurst * api +
    MINUTES_AT_ONCE * settings.tickShards * tick +
    settings.fastConcurrency * worker +
    settings.slowConcurrency * (worker + handlers) +
    settings.ingestConcurrency * ingest +
    (settings.archiveBucket === undefined ? 0 : archive) +
    migration
  );
}

/** Refuses more concurrency than the database has connections for: it would show under load alone, as functions that cannot connect. */
export function checkConnectionBudget(settings: BudgetSettings): void {
  if (settings.databaseProxy) checkProxyBudget(settings);
  else checkDirectBudget(settings);
}

function checkDirectBudget(settings: BudgetSettings): void {
  const [wanted, offered] = [connectionsAtMost(settings), maxConnections(settings) - KEPT_BACK];
  if (wanted <= offered) return;
  throw new Error(
    `The functions may want ${wanted} database connections at once, and ${offered} are theirs. ` +
      "Lower slowConcurrency (four each), fastConcurrency or ingestConcurrency (two each), apiRequestBurst (one each) or tickShards (six each), or take a databaseClass or databaseCapacityMax with more memory.",
  );
}

/** So much of the database's connections the proxy may open: what is kept back, and the migration, stay beside it. */
export function proxyConnectionsPercent(connections: number): number {
  return Math.floor((100 * (connections - KEPT_BACK - functionConnections.migration)) / connections);
}

/**
 * Behind a proxy a function has a connection only while it is in a transaction. Those of most take milliseconds, and the next one waits for
 * them; those of handlers take as long as their code. They may hold half of all, so that there is always one that comes free soon.
 */
function checkProxyBudget(settings: BudgetSettings): void {
  const connections = maxConnections(settings);
  const shared = Math.floor((connections * proxyConnectionsPercent(connections)) / 100);
  const held = settings.slowConcurrency * functionConnections.handlers;
  if (held * 2 <= shared) return;
  throw new Error(
    `Handlers may hold ${held} database connections at once in their own transactions; that is more than half of the ${shared} that the proxy shares out, and the others would wait for them. ` +
      "Lower slowConcurrency (two each), or take a databaseClass or databaseCapacityMax with more memory.",
  );
}

/** Within a family, memory doubles with the size; families of another letter have other ratios within themselves. */
function memoryGiB(databaseClass: string): number | undefined {
  const [, family, size, times] =
    /^([tmr])\d[a-z]*\.(micro|small|medium|large|(\d*)xlarge)$/.exec(databaseClass) ?? [];
  if (family === undefined || size === undefined) return undefined;
  const large = family === "r" ? 16 : 8;
  const parts: Record<string, number> = { micro: 1 / 8, small: 1 / 4, medium: 1 / 2, large: 1 };
  return large * (parts[size] ?? 2 * Number(times || 1));
}
