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

/** Assumed: blocks that a tick reads and writes when it finds nothing. A cluster pays for each. */
const blocksATick = 50;
/** RDS bills a proxy by the size of its database, and by so much at least. */
const proxyLeast = { processors: 2, capacityUnits: 8 } as const;

/** What an instance costs; one of a cluster is paid for with its cluster. */
export function instanceLines({ Properties }: Priceable, prices: Prices): Line[] {
  const { DBInstanceClass } = className.parse(Properties);
  if (DBInstanceClass === SERVERLESS) return [];
  const { AllocatedStorage, MultiAZ, ManageMasterUserPassword } = instance.parse(Properties);
  const hour = prices.databaseHour[DBInstanceClass];
  if (hour === undefined) {
    const known = Object.keys(prices.databaseHour).join(", ");
    throw new Error(`The price table has no ${DBInstanceClass} under databaseHour; it has ${known}.`);
  }
  const zones = MultiAZ ? 2 : 1;
  const lines = [
    line("Database", [zones, "in a zone"], [hours, "h"], [hour, "USD"]),
    line("Database storage", [zones, "in a zone"], [AllocatedStorage, "GB"], [prices.databaseGBMonth, "USD"]),
  ];
  return ManageMasterUserPassword ? [...lines, masterSecret(prices)] : lines;
}

/** Each of its instances is at its smallest while nothing is due; what is stored is paid for as it comes. */
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

/** In every family two up to `large`, and four for each `x` of what is larger. */
function processorsOf(name: string): number {
  const [, times] = /\.(\d*)xlarge$/.exec(name) ?? [];
  return times === undefined ? 2 : 4 * Number(times || 1);
}

function masterSecret(prices: Prices): Line {
  return line("Master secret, made by RDS", [1, "secret"], [prices.secretMonth, "USD"]);
}
