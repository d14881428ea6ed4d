import { z } from "zod";
import { clusterLines, instanceLines, proxyLines } from "./databases.ts";
import { type Line, line, total } from "./line.ts";
import type { Prices } from "./price-table.ts";
import { type Usage, usageOf } from "./usage.ts";
import { isFree } from "./without-price.ts";
import { millionJobs } from "./workload.ts";

const resource = z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) });
const template = z.object({ Resources: z.record(z.string(), resource) });
type Resource = z.infer<typeof resource>;

/** A gateway endpoint has no subnet, and costs nothing. */
const endpoint = z.object({ SubnetIds: z.array(z.unknown()).default([]) });
const alarm = z.object({ Metrics: z.array(z.object({ MetricStat: z.unknown().optional() })).default([]) });
const webAcl = z.object({ Rules: z.array(z.unknown()).default([]) });

const hours = 730;
const minutes = hours * 60;

/** The activity of a stack while nothing is due. */
export const idle = {
  /** Lambda polls each queue with five pollers, and each poll waits up to twenty seconds. */
  pollsPerMinute: 15,
  /** Assumed: the duration of a tick without work. */
  tickSeconds: 0.1,
  tickGiB: 1,
  /** Assumed: the tick's own log line, its metrics, and Lambda's three lines. */
  tickLogBytes: 2_500,
  /** The metrics that ticks write; docs/observability.md lists them. */
  tickMetrics: 16,
  /** One to each queue. */
  canaryJobs: 2,
  /**
   * The metrics that workers write with each job, the same five for each queue, and how long the
   * canary of the slow queue took.
   */
  canaryMetrics: 11,
} as const;

/** The monthly cost of each type of resource that is billed by the hour or month. */
const priced: Readonly<
  Record<string, (found: readonly Resource[], prices: Prices, all: readonly Resource[]) => Line[]>
> = {
  "AWS::RDS::DBInstance": (found, prices) => found.flatMap((each) => instanceLines(each, prices)),
  "AWS::RDS::DBCluster": (found, prices, all) => found.flatMap((each) => clusterLines(each, prices, all)),
  "AWS::RDS::DBProxy": (_found, prices, all) => proxyLines(prices, all),
  "AWS::EC2::VPCEndpoint": (found, prices) => {
    const zones = found.reduce((sum, { Properties }) => sum + endpoint.parse(Properties).SubnetIds.length, 0);
    return [line("Interface endpoints", [zones, "in a zone"], [hours, "h"], [prices.endpointHour, "USD"])];
  },
  "AWS::SecretsManager::Secret": (found, prices) => [
    line("Secrets", [found.length, "secrets"], [prices.secretMonth, "USD"]),
  ],
  "AWS::KMS::Key": (found, prices) => [
    line("Keys of KMS", [found.length, "keys"], [prices.kmsKeyMonth, "USD"]),
  ],
  // AWS bills an alarm for each metric that it reads: one, or those of its expression.
  "AWS::CloudWatch::Alarm": (found, prices) => {
    const metrics = found.reduce((sum, { Properties }) => {
      const read = alarm.parse(Properties).Metrics.filter(({ MetricStat }) => MetricStat !== undefined);
      return sum + Math.max(1, read.length);
    }, 0);
    return [line("Alarms", [metrics, "metrics of alarms"], [prices.alarmMonth, "USD"])];
  },
  "AWS::CloudWatch::Dashboard": (found, prices) => [
    line("Dashboard", [found.length, "dashboards"], [prices.dashboardMonth, "USD"]),
  ],
  "AWS::WAFv2::WebACL": (found, prices) => {
    const rules = found.reduce((sum, { Properties }) => sum + webAcl.parse(Properties).Rules.length, 0);
    return [
      line("Firewall", [found.length, "ACLs"], [prices.firewallMonth, "USD"]),
      line("Firewall, rules", [rules, "rules"], [prices.firewallRuleMonth, "USD"]),
    ];
  },
  "AWS::Logs::MetricFilter": (found, prices) => [
    line("Metrics of log filters", [found.length, "metrics"], [prices.metricMonth, "USD"]),
  ],
  "AWS::Lambda::EventSourceMapping": (found, prices) => [
    line(
      "Polling of queues",
      [found.length, "queues"],
      [(idle.pollsPerMinute * minutes) / 1e6, "M requests"],
      [prices.millionQueueRequests, "USD"],
    ),
  ],
};

/**
 * The bill of an idle month, from a template as it is deployed. Throws for a type of resource that
 * has no price here.
 */
export function idleMonth(synthesised: unknown, prices: Prices): Line[] {
  const resources = Object.values(template.parse(synthesised).Resources);
  const unknown = new Set(
    resources.map(({ Type }) => Type).filter((type) => !(type in priced) && !isFree(type)),
  );
  if (unknown.size > 0) {
    throw new Error(
      `No price is known for ${[...unknown].sort().join(", ")}. Add one in infra/tools/cost/idle-month.ts, or list the type as free in without-price.ts.`,
    );
  }
  const standing = Object.entries(priced).flatMap(([type, linesOf]) => {
    const found = resources.filter(({ Type }) => Type === type);
    return found.length === 0 ? [] : linesOf(found, prices, resources);
  });
  const usage = usageOf(synthesised);
  return [...standing, ...ticks(prices, usage), ...canary(prices, usage)];
}

function ticks(prices: Prices, { ticksAMinute, traced }: Usage): Line[] {
  const ticked = minutes * ticksAMinute;
  const lines = [
    line(
      "Ticks, time",
      [ticked, "ticks"],
      [idle.tickSeconds, "s"],
      [idle.tickGiB, "GB"],
      [prices.functionGBSecond, "USD"],
    ),
    line("Ticks, requests", [ticked / 1e6, "M requests"], [prices.millionFunctionRequests, "USD"]),
    line("Ticks, logs", [(ticked * idle.tickLogBytes) / 1e9, "GB"], [prices.logGB, "USD"]),
    line("Ticks, metrics", [idle.tickMetrics, "metrics"], [prices.metricMonth, "USD"]),
  ];
  if (!traced) return lines;
  // X-Ray samples the first request of each second, which is every tick.
  return [...lines, line("Ticks, traces", [ticked / 1e6, "M traces"], [prices.millionTraces, "USD"])];
}

function canary(prices: Prices, { canaryMinutes }: Usage): Line[] {
  if (canaryMinutes === undefined) return [];
  const jobs = (idle.canaryJobs * minutes) / canaryMinutes;
  const each = total(millionJobs(prices, 1));
  return [
    line("Canary, jobs", [jobs / 1e6, "M jobs"], [each, "USD"]),
    line("Canary, metrics", [idle.canaryMetrics, "metrics"], [prices.metricMonth, "USD"]),
  ];
}
