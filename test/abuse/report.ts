import type { Seen } from "./neighbour.ts";
import { lateMs } from "./neighbour.ts";
import type { Memory } from "./stack-process.ts";
import type { TicksSeen } from "./ticks.ts";

/** The figures of one attack. */
export interface Report {
  attack: string;
  seconds: number;
  requests: number;
  /** Answers by status, as text. */
  answers: string;
  before: Memory;
  after: Memory;
  neighbour: Seen;
  ticks: TicksSeen;
  /** Every broken rule. */
  faults: readonly string[];
}

const mebibyte = 1024 * 1024;

/**
 * The most that memory may have grown when an attack is over and a collection has run. Resident
 * memory keeps room that was needed once: 1,000 jobs a second leave 400 MiB after one minute, and no
 * more after five. What is in use keeps none.
 */
export const growthMax = { rss: 512 * mebibyte, used: 32 * mebibyte };

/** The rules about memory. */
export function growthFaults(before: Memory, after: Memory): string[] {
  return (["rss", "used"] as const).flatMap((kind) => {
    const grown = after[kind] - before[kind];
    if (grown <= growthMax[kind]) return [];
    const what = kind === "rss" ? "resident memory" : "memory in use";
    return [`${what} grew by ${inMib(grown)} MiB; at most ${inMib(growthMax[kind])} are allowed`];
  });
}

/** The rules about time. They hold on a machine that is not busy with other work. */
export function timeFaults({ ticks, neighbour }: Pick<Report, "ticks" | "neighbour">): string[] {
  const faults: string[] = [];
  if (ticks.ticked < ticks.minutes)
    faults.push(`${ticks.minutes - ticks.ticked} of ${ticks.minutes} minutes had no tick`);
  if (neighbour.latestMs >= lateMs)
    faults.push(`a fire of the neighbour was ${neighbour.latestMs} ms late; ${lateMs} are too many`);
  return faults;
}

export const inMib = (bytes: number): number => Math.round(bytes / mebibyte);

/** One line for the terminal. */
export function lineOf(report: Report): string {
  const { attack, seconds, requests, answers, before, after, neighbour, ticks, faults } = report;
  return [
    `${faults.length === 0 ? "ok    " : "not ok"}  ${attack}: ${requests} requests in ${Math.round(seconds)} s (${answers})`,
    `        memory ${inMib(before.rss)} → ${inMib(after.rss)} MiB resident, ${inMib(before.used)} → ${inMib(after.used)} MiB in use`,
    `        neighbour: ${neighbour.requests} requests, p50 ${neighbour.p50Ms} ms, p99 ${neighbour.p99Ms} ms; ${neighbour.fires} fires, at most ${neighbour.latestMs} ms late`,
    `        ticks: ${ticks.ticked} of ${ticks.minutes}, at most ${ticks.latestMs} ms after the minute`,
    ...faults.map((fault) => `        ${fault}`),
  ].join("\n");
}

/** The rows of the table in docs/security.md. */
export function tableOf(reports: readonly Report[]): string {
  const rows = reports.map(({ attack, requests, answers, before, after, neighbour, ticks }) =>
    [
      `\`${attack}\``,
      requests.toLocaleString("en"),
      answers,
      `${inMib(before.used)} → ${inMib(after.used)}, ${inMib(before.rss)} → ${inMib(after.rss)}`,
      `${neighbour.p50Ms}, ${neighbour.p99Ms}`,
      `${neighbour.fires}, ${neighbour.latestMs}`,
      `${ticks.ticked} of ${ticks.minutes}, ${ticks.latestMs}`,
    ].join(" | "),
  );
  const head =
    "attack | requests | answers by status | MiB in use, resident | neighbour p50, p99 in ms | its fires, latest in ms | ticks, latest in ms";
  return [head, "---|---|---|---|---|---|---", ...rows].map((row) => `| ${row} |`).join("\n");
}
