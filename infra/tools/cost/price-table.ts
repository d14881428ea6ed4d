import { readFileSync } from "node:fs";
import { z } from "zod";

const usd = z.number().nonnegative();

/** The prices of a region in US dollars. A user with other prices passes a file of this shape. */
const priceTable = z.strictObject({
  region: z.string().min(1),
  asOf: z.string().min(1),
  source: z.string().min(1),
  usd: z.strictObject({
    /** By RDS instance class, without its "db." prefix, in one zone. */
    databaseHour: z.record(z.string(), usd),
    databaseGBMonth: usd,
    /** Aurora Serverless v2, per capacity unit. */
    capacityUnitHour: usd,
    millionDatabaseBlocks: usd,
    /** RDS Proxy: per processor of an instance, and per capacity unit of an Aurora cluster. */
    proxyProcessorHour: usd,
    proxyCapacityUnitHour: usd,
    /** One endpoint in one zone. */
    endpointHour: usd,
    endpointGB: usd,
    secretMonth: usd,
    kmsKeyMonth: usd,
    alarmMonth: usd,
    metricMonth: usd,
    dashboardMonth: usd,
    logGB: usd,
    millionQueueRequests: usd,
    millionFunctionRequests: usd,
    /** On ARM64. */
    functionGBSecond: usd,
    /** Requests to an HTTP API. */
    millionApiRequests: usd,
    /** Requests to a REST API. */
    millionRestRequests: usd,
    firewallMonth: usd,
    firewallRuleMonth: usd,
    millionFirewallRequests: usd,
    millionTraces: usd,
    millionEvents: usd,
  }),
});

export type PriceTable = z.infer<typeof priceTable>;
export type Prices = PriceTable["usd"];

export const regions = ["us-east-1", "eu-west-1"] as const;

export function pricesOfRegion(region: string): PriceTable {
  if (!regions.some((known) => known === region)) {
    throw new Error(
      `There are no prices for ${region} here, only for ${regions.join(" and ")}; pass your own with --region-table FILE.`,
    );
  }
  return readPriceTable(new URL(`${region}.json`, import.meta.url));
}

export function readPriceTable(file: string | URL): PriceTable {
  const result = priceTable.safeParse(JSON.parse(readFileSync(file, "utf8")));
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Error(["This price table cannot be used:", ...faults].join("\n  "));
}
