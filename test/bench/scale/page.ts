import { monthOfBoth } from "./costs.ts";
import { type JobCost, type PeakResult, playPeak } from "./peak.ts";
import { dueAroundMidnight, type Profile, profiles } from "./profile.ts";
import { type Rented, servers } from "./servers.ts";

export interface Measured {
  fire: JobCost;
  drain: JobCost;
  burst: { jobs: number; measuredMs: number; foretoldMs: number };
}

const sizes = [1_000_000, 30_000_000, 1_000_000_000];
const ticks = 16;
const workersPerCore = 8;
/** The allowed lateness of 99 of 100 jobs, in seconds: on time, or within a minute after a peak. */
const onTime = 1;
const withinAMinute = 60;

interface Carried {
  server: Rented;
  cells: number;
  result: PeakResult;
}

type Costs = Pick<Measured, "fire" | "drain">;

/**
 * The smallest server on which 99 of 100 jobs start within `latest` seconds. If there is none, how
 * many of the largest servers it takes, each with an equal part of the schedules.
 */
export function smallestThatCarries(
  schedules: number,
  profile: Profile,
  { fire, drain }: Costs,
  latest: number,
): Carried | null {
  const play = (server: Rented, cells: number) =>
    playPeak({
      due: dueAroundMidnight(schedules / cells, profile),
      fire,
      drain,
      server,
      ticks,
      workers: server.cores * workersPerCore,
      horizon: 180,
      tickAt: 0,
    });
  for (const server of servers) {
    const result = play(server, 1);
    if (holds(result, latest)) return { server, cells: 1, result };
  }
  const largest = servers.at(-1);
  if (largest === undefined) return null;
  for (let cells = 2; cells <= 4_096; cells *= 2) {
    const result = play(largest, cells);
    if (holds(result, latest)) return { server: largest, cells, result };
  }
  return null;
}

function holds({ lateness, left }: PeakResult, latest: number): boolean {
  return lateness.p99 <= latest && left < 1;
}

export function scalePage({ fire, drain, burst }: Measured): string {
  return `### Results of the simulation

The cost of a job here (medians): made, ${cost(fire)}; drained, ${cost(drain)}. **Does the simulation predict this machine?** ${whole(burst.jobs)} jobs made by one tick took ${whole(burst.measuredMs)} ms; from a burst a third as large it predicted ${whole(burst.foretoldMs)} ms (${(burst.foretoldMs / burst.measuredMs).toFixed(2)} ×).

The smallest servers on which 99 of 100 jobs start within a second of their time, and within a minute, with ${ticks} ticks and ${workersPerCore} workers for each core; targets that take no time; 70 % of the cores for jobs.
Where no server is large enough: several of the largest, each with a share. Whether the memory holds the hot rows is not simulated.

| schedules | when | most due in a second | within a second | within a minute | there p50, p99, most late |
|--:|---|--:|---|---|---|
${sizes.flatMap((size) => profiles.map((profile) => row(size, profile, { fire, drain }))).join("\n")}

Within a minute, if a job cost half, or half as much again:

| schedules | when | half | as measured | half as much again |
|--:|---|---|---|---|
${sizes.map((size) => sensitivity(size, { fire, drain })).join("\n")}

### Costs

US dollars a month, us-east-1: the server above that is on time within a minute, in two zones (0.125 USD an hour for a core: assumed), jobs to queues and storage for 30 days by \`npm run cost\`, beside EventBridge Scheduler's price for the invocations alone
(1.00 USD a million after 14 million, by public articles of 2026; its quotas page names 10,000,000 schedules and 1,000 invocations a second by default, both adjustable). Not included: Carillon's idle month ([costs.md](costs.md)) and the cost of targets.

| schedules | when | invocations a month | database | jobs | stored | **Carillon** | **EventBridge Scheduler** |
|--:|---|--:|--:|--:|--:|--:|--:|
${sizes.flatMap((size) => profiles.map((profile) => month(size, profile, { fire, drain }))).join("\n")}`;
}

function cost({ serialMs, databaseMs, walBytes }: JobCost): string {
  return `${micro(serialMs)} µs by one without other work, ${micro(databaseMs)} µs of a core of the database, ${Math.round(walBytes)} bytes of WAL`;
}

function row(size: number, profile: Profile, measured: Costs): string {
  const soon = smallestThatCarries(size, profile, measured, onTime);
  const later = smallestThatCarries(size, profile, measured, withinAMinute);
  const most = Math.max(...dueAroundMidnight(size, profile));
  return `| ${whole(size)} | ${profile.name} | ${whole(most)} | ${named(soon)} | ${named(later)} | ${later === null ? "" : late(later.result)} |`;
}

function sensitivity(size: number, { fire, drain }: Costs): string {
  const [profile] = profiles;
  if (profile === undefined) throw new Error("There are no profiles.");
  const times = (by: number) =>
    named(
      smallestThatCarries(size, profile, { fire: scaled(fire, by), drain: scaled(drain, by) }, withinAMinute),
    );
  return `| ${whole(size)} | ${profile.name} | ${times(0.5)} | ${times(1)} | ${times(1.5)} |`;
}

function scaled({ serialMs, databaseMs, walBytes }: JobCost, by: number): JobCost {
  return { serialMs: serialMs * by, databaseMs: databaseMs * by, walBytes: walBytes * by };
}

function month(size: number, profile: Profile, measured: Costs): string {
  const carried = smallestThatCarries(size, profile, measured, withinAMinute);
  if (carried === null) return `| ${whole(size)} | ${profile.name} | | | | | | |`;
  const bill = monthOfBoth(size, profile.firesPerDay, carried.server, carried.cells);
  return `| ${whole(size)} | ${profile.name} | ${whole(bill.invocations / 1e6)} M | ${whole(bill.database)} | ${whole(bill.jobs)} | ${whole(bill.storage)} | **${whole(bill.together)}** | **${whole(bill.eventBridge)}** |`;
}

function named(carried: Carried | null): string {
  if (carried === null) return "none";
  return carried.cells === 1 ? carried.server.name : `${carried.cells} cells of ${carried.server.name}`;
}

function late({ lateness: { p50, p99, max } }: PeakResult): string {
  return [p50, p99, max].map((seconds) => `${seconds.toFixed(2)} s`).join(", ");
}

function micro(ms: number): string {
  return (ms * 1_000).toFixed(1);
}

function whole(count: number): string {
  return Math.round(count).toLocaleString("en");
}
