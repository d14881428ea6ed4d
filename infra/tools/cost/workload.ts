import { type Line, line } from "./line.ts";
import type { Prices } from "./price-table.ts";
import type { Usage } from "./usage.ts";

/** Measured by `npm run bench` on two cores, as docs/benchmarks.md tells; the others are assumed and say so. */
export const measured = {
  firedPerSecond: 76_900,
  settledPerSecond: 61_000,
  /** What a job adds to the log of the database when it is made; it bounds what its rows and indexes take. */
  jobBytes: 516,
} as const;

export const assumed = {
  /** A function of 1 GiB has little more than half a core; the benches had two, which Postgres shared. */
  slowerInLambda: 4,
  /** The least that an invocation of a worker takes: a claim and a settle. */
  invocationSeconds: 0.02,
  invocationLogBytes: 1_000,
  /** A job's message to its target, by way of an endpoint. */
  messageBytes: 1_000,
  /** A schedule with its version, its plan and their indexes. */
  scheduleBytes: 1_500,
  /** A request to the API. */
  requestSeconds: 0.03,
  /** How long the host of a webhook takes to answer. */
  webhookSeconds: 0.3,
  /** Of the invocations of a second beyond the first, X-Ray samples so many by its default rule. */
  sampled: 0.05,
} as const;

const million = 1e6;
const workerGiB = 1;
const senderGiB = 0.25;
const targetMessagesAtOnce = 10;
const daysAMonth = 365 / 12;

/** As many jobs as one message to a worker holds: to that of queues and buses, and to that of webhooks. A test compares them with the code. */
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

/** Of a million jobs. */
function messagesByEndpoints(prices: Prices): Line {
  return line("Endpoints", [(million * assumed.messageBytes) / 1e9, "GB"], [prices.endpointGB, "USD"]);
}

/** A million jobs delivered to queues, so many of them in a parcel: all that are due together, or each alone. */
export function millionJobs(prices: Prices, jobsPerParcel: number, traced = false): Line[] {
  const parcels = million / jobsPerParcel;
  const fireSeconds = (million / measured.firedPerSecond) * assumed.slowerInLambda;
  const settleSeconds = (million / measured.settledPerSecond) * assumed.slowerInLambda;
  // At worst each parcel comes alone: SQS is asked once to send, once to receive, once to delete, and its jobs have requests of their own.
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

/** A million webhooks: the slow worker waits for those of one parcel side by side, and a function sends each. */
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

/** What a million events cost on their bus, instead of messages to queues. */
export function millionEvents(prices: Prices): Line[] {
  return [line("Events", [1, "M events"], [prices.millionEvents, "USD"])];
}

/** A million requests to the API, such as those that make schedules one by one. */
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
  /** In how many zones the database keeps everything. */
  readonly zones: number;
  /** For how many days jobs are kept. */
  readonly daysKept: number;
  readonly traced: boolean;
}

/** What a month of this adds to an idle one: its jobs by the million, and what it stores beyond nothing. */
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
