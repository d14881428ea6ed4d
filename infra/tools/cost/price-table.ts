import { readFileSync } from "node:fs";
import { z } from "zod";

const usd = z.number().nonnegative();

/** What a region charges, in US dollars. Whoever has other prices gives a file of this shape. */
const priceTable = z.strictObject({
  region: z.string().min(1),
  asOf: z.string().min(1),
  source: z.string().min(1),
  usd: z.strictObject({
    /** By RDS instance class, without its "db." prefix, in one zone. */
    databaseHour: z.record(z.string(), usd),
    databaseGBMonth: usd,
    /** Of Aurora Serverless v2, each for one unit of capacity. */
    capacityUnitHour: usd,
    millionDatabaseBlocks: usd,
    /** Of RDS Proxy, before an instance and before an Aurora cluster. */
    proxyProcessorHour: usd,
    proxyCapacityUnitHour: usd,
    /** Of one endpoint in one zone. */
    endpointHour: usd,
    endpointGB: usd,
    secretMonth: usd,
    alarmMonth: usd,
    metricMonth: usd,
    dashboardMonth: usd,
    logGB: usd,
    millionQueueRequests: usd,
    millionFunctionRequests: usd,
    /** On ARM64. */
    functionGBSecond: usd,
    /** To an HTTP API. */
    millionApiRequests: usd,
    /** To a REST API. */
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
      `There are no prices of ${region} here, only of ${regions.join(" and ")}; give yours with --region-table FILE.`,
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
