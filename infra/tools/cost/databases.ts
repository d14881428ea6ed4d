import { z } from "zod";
import { type Line, line } from "./line.ts";
import type { Prices } from "./price-table.ts";

export interface Priceable {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

const hours = 730;
const SERVERLESS = "serverless";

const className = z.object({ DBInstanceClass: z.string().transform((name) => name.replace(/^db\./, "")) });
const instance = z.object({
  AllocatedStorage: z.coerce.number(),
  MultiAZ: z.boolean().default(false),
  ManageMasterUserPassword: z.boolean().default(false),
});
const cluster = z.object({ ServerlessV2ScalingConfiguration: z.object({ MinCapacity: z.number() }) });

/** Assumed: the blocks that an idle tick reads and writes. A cluster is billed for each. */
const blocksATick = 50;
/** RDS bills a proxy by the size of its database, but for at least this much. */
const proxyLeast = { processors: 2, capacityUnits: 8 } as const;

/** The cost of an instance; an instance of a cluster is part of the cluster's cost. */
export function instanceLines({ Properties }: Priceable, prices: Prices): Line[] {
  const { DBInstanceClass } = className.parse(Properties);
  if (DBInstanceClass === SERVERLESS) return [];
  const { AllocatedStorage, MultiAZ, ManageMasterUserPassword } = instance.parse(Properties);
  const hour = prices.databaseHour[DBInstanceClass];
  if (hour === undefined) {
    const known = Object.keys(prices.databaseHour).join(", ");
    throw new Error(
      `The price table has no ${DBInstanceClass} under databaseHour; it has ${known}. Add its price to a copy of the table, and name that with --region-table.`,
    );
  }
  const zones = MultiAZ ? 2 : 1;
  const lines = [
    line("Database", [zones, "in a zone"], [hours, "h"], [hour, "USD"]),
    line("Database storage", [zones, "in a zone"], [AllocatedStorage, "GB"], [prices.databaseGBMonth, "USD"]),
  ];
  return ManageMasterUserPassword ? [...lines, masterSecret(prices)] : lines;
}

/**
 * While nothing is due, each instance of the cluster has its smallest size. Storage is billed by
 * use.
 */
export function clusterLines({ Properties }: Priceable, prices: Prices, all: readonly Priceable[]): Line[] {
  const { MinCapacity } = cluster.parse(Properties).ServerlessV2ScalingConfiguration;
  const instances = all.filter(({ Type }) => Type === "AWS::RDS::DBInstance").length;
  return [
    line(
      "Database",
      [instances, "instances"],
      [MinCapacity, "units"],
      [hours, "h"],
      [prices.capacityUnitHour, "USD"],
    ),
    line(
      "Database blocks",
      [(blocksATick * hours * 60) / 1e6, "M blocks"],
      [prices.millionDatabaseBlocks, "USD"],
    ),
    masterSecret(prices),
  ];
}

export function proxyLines(prices: Prices, all: readonly Priceable[]): Line[] {
  const [classes = SERVERLESS] = all
    .filter(({ Type }) => Type === "AWS::RDS::DBInstance")
    .map(({ Properties }) => className.parse(Properties).DBInstanceClass);
  if (classes === SERVERLESS)
    return [
      line("Proxy", [proxyLeast.capacityUnits, "units"], [hours, "h"], [prices.proxyCapacityUnitHour, "USD"]),
    ];
  const processors = Math.max(proxyLeast.processors, processorsOf(classes));
  return [line("Proxy", [processors, "processors"], [hours, "h"], [prices.proxyProcessorHour, "USD"])];
}

/**
 * In every family, `large` and smaller sizes have two processors, and larger ones four for each
 * `x`.
 */
function processorsOf(name: string): number {
  const [, times] = /\.(\d*)xlarge$/.exec(name) ?? [];
  return times === undefined ? 2 : 4 * Number(times || 1);
}

function masterSecret(prices: Prices): Line {
  return line("Master secret, made by RDS", [1, "secret"], [prices.secretMonth, "USD"]);
}
