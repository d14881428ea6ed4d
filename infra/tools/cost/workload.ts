import { type Line, line } from "./line.ts";
import type { Prices } from "./price-table.ts";
import type { Usage } from "./usage.ts";

/**
 * Measured by `npm run bench` on two cores, see docs/benchmarks.md. The figures below, under
 * `assumed`, are assumptions.
 */
export const measured = {
  firedPerSecond: 76_900,
  settledPerSecond: 61_000,
  /** The WAL that a new job writes; an upper bound for the size of its rows and indexes. */
  jobBytes: 516,
} as const;

export const assumed = {
  /**
   * A function of 1 GiB has little more than half a core; the benches had two cores, shared with
   * Postgres.
   */
  slowerInLambda: 4,
  /** The shortest invocation of a worker: a claim and a settle. */
  invocationSeconds: 0.02,
  invocationLogBytes: 1_000,
  /** A job's message to its target, through an endpoint. */
  messageBytes: 1_000,
  /** A schedule with its version, its plan and their indexes. */
  scheduleBytes: 1_500,
  /** A request to the API. */
  requestSeconds: 0.03,
  /** How long a webhook's host takes to answer. */
  webhookSeconds: 0.3,
  /**
   * The share of the requests after the first of each second that X-Ray samples by its default
   * rule.
   */
  sampled: 0.05,
} as const;

const million = 1e6;
const workerGiB = 1;
const senderGiB = 0.25;
const targetMessagesAtOnce = 10;
const daysAMonth = 365 / 12;

/**
 * The most jobs in one parcel: for queues and buses, and for webhooks. A test compares them with
 * the code.
 */
export const jobsPerParcelMax = { fast: 250, slow: 10 } as const;

function parcelsThroughSqs(prices: Prices, parcels: number): Line {
  return line(
    "Parcels through SQS",
    [parcels / million, "M parcels"],
    [3, "requests"],
    [prices.millionQueueRequests, "USD"],
  );
}

function functionTime(prices: Prices, what: string, seconds: number, gib: number): Line {
  return line(what, [seconds, "s"], [gib, "GB"], [prices.functionGBSecond, "USD"]);
}

function invocations(prices: Prices, what: string, count: number): Line {
  return line(what, [count / million, "M requests"], [prices.millionFunctionRequests, "USD"]);
}

function logsOf(prices: Prices, count: number): Line {
  return line("Logs", [(count * assumed.invocationLogBytes) / 1e9, "GB"], [prices.logGB, "USD"]);
}

function traces(prices: Prices, traced: boolean, count: number): Line[] {
  if (!traced) return [];
  const sampled = (count * assumed.sampled) / million;
  return [line("Traces", [sampled, "M traces"], [prices.millionTraces, "USD"])];
}

/** The messages of a million jobs to their targets, through endpoints. */
function messagesByEndpoints(prices: Prices): Line {
  return line("Endpoints", [(million * assumed.messageBytes) / 1e9, "GB"], [prices.endpointGB, "USD"]);
}

/**
 * A million jobs delivered to queues, with this many jobs to a parcel: all that are due together,
 * or each alone.
 */
export function millionJobs(prices: Prices, jobsPerParcel: number, traced = false): Line[] {
  const parcels = million / jobsPerParcel;
  const fireSeconds = (million / measured.firedPerSecond) * assumed.slowerInLambda;
  const settleSeconds = (million / measured.settledPerSecond) * assumed.slowerInLambda;
  // In the worst case each parcel comes alone: SQS gets one request to send it, one to receive it,
  // one to delete it, and its jobs are sent with requests of their own.
  const workSeconds = settleSeconds + parcels * assumed.invocationSeconds;
  const targetRequests = Math.max(million / targetMessagesAtOnce, parcels);
  return [
    parcelsThroughSqs(prices, parcels),
    line(
      "Messages to targets",
      [targetRequests / million, "M requests"],
      [prices.millionQueueRequests, "USD"],
    ),
    functionTime(prices, "Ticks, time", fireSeconds, workerGiB),
    functionTime(prices, "Workers, time", workSeconds, workerGiB),
    invocations(prices, "Workers, requests", parcels),
    logsOf(prices, parcels),
    messagesByEndpoints(prices),
    ...traces(prices, traced, parcels),
  ];
}

/**
 * A million webhooks: the slow worker waits for all webhooks of a parcel in parallel, and one
 * function call sends each.
 */
export function millionWebhooks(prices: Prices, traced = false): Line[] {
  const parcels = million / jobsPerParcelMax.slow;
  return [
    parcelsThroughSqs(prices, parcels),
    functionTime(prices, "Workers, time", parcels * assumed.webhookSeconds, workerGiB),
    functionTime(prices, "Sender, time", million * assumed.webhookSeconds, senderGiB),
    invocations(prices, "Both, requests", million + parcels),
    logsOf(prices, million + parcels),
    messagesByEndpoints(prices),
    ...traces(prices, traced, parcels),
  ];
}

/** The cost of a million events on a bus, instead of messages to queues. */
export function millionEvents(prices: Prices): Line[] {
  return [line("Events", [1, "M events"], [prices.millionEvents, "USD"])];
}

/** A million requests to the API, such as those that create one schedule each. */
export function millionRequests(
  prices: Prices,
  usage: Pick<Usage, "restApi" | "firewall" | "traced">,
): Line[] {
  const gateway = usage.restApi ? prices.millionRestRequests : prices.millionApiRequests;
  const firewall = line("Firewall", [1, "M requests"], [prices.millionFirewallRequests, "USD"]);
  return [
    line("Gateway", [1, "M requests"], [gateway, "USD"]),
    ...(usage.firewall ? [firewall] : []),
    invocations(prices, "Function, requests", million),
    functionTime(prices, "Function, time", million * assumed.requestSeconds, workerGiB),
    logsOf(prices, million),
    ...traces(prices, usage.traced, million),
  ];
}

export interface Workload {
  readonly schedules: number;
  readonly firesPerDay: number;
  readonly jobsPerParcel: number;
  /** The number of zones with a copy of the database's storage. */
  readonly zones: number;
  /** How many days jobs are kept. */
  readonly daysKept: number;
  readonly traced: boolean;
}

/** The cost that this workload adds to an idle month: its jobs, by the million, and its storage. */
export function workloadMonth(prices: Prices, workload: Workload): Line[] {
  const millions = (workload.firesPerDay * daysAMonth) / million;
  const jobs = millionJobs(prices, workload.jobsPerParcel, workload.traced).reduce(
    (sum, { usd }) => sum + usd,
    0,
  );
  const jobGB = (workload.firesPerDay * workload.daysKept * measured.jobBytes) / 1e9;
  const scheduleGB = (workload.schedules * assumed.scheduleBytes) / 1e9;
  const inZones = [workload.zones, "in a zone"] as const;
  return [
    line("Jobs", [millions, "M jobs"], [jobs, "USD"]),
    line(`Jobs kept for ${workload.daysKept} days`, inZones, [jobGB, "GB"], [prices.databaseGBMonth, "USD"]),
    line("Schedules", inZones, [scheduleGB, "GB"], [prices.databaseGBMonth, "USD"]),
  ];
}
