import type { LoadOrder, LoadReport, LoadSlice } from "./load-orders.ts";
import { tenths } from "./quantile.ts";

export interface LoadTally {
  /**
   * Counted from when the request was to be sent: a generator that falls behind delays its caller
   * too.
   */
  answered(verb: string, plannedAt: number, status: number, text: string): void;
  /** The number of requests without an answer when the load is over. */
  unanswered(count: number): void;
  received(count: number): void;
  report(): LoadReport;
}

const failuresMax = 20;

export function loadTally({ from, sliceMs }: Pick<LoadOrder, "from" | "sliceMs">): LoadTally {
  const slices = new Map<number, { ms: number[]; failures: number; received: number }>();
  const verbs = new Map<string, { ms: number[]; failures: number }>();
  const failures = new Set<string>();
  let received = 0;
  const sliceAt = (at: number) => {
    const start = from + Math.floor((at - from) / sliceMs) * sliceMs;
    const slice = slices.get(start) ?? { ms: [], failures: 0, received: 0 };
    slices.set(start, slice);
    return slice;
  };
  return {
    answered: (verb, plannedAt, status, text) => {
      const ms = Date.now() - plannedAt;
      const failed = status < 200 || status >= 300;
      const own = verbs.get(verb) ?? { ms: [], failures: 0 };
      verbs.set(verb, own);
      for (const each of [own, sliceAt(plannedAt)]) {
        each.ms.push(ms);
        if (failed) each.failures += 1;
      }
      if (failed && failures.size < failuresMax) failures.add(`${verb}: ${status} ${text.slice(0, 300)}`);
    },
    unanswered: (count) => {
      failures.add(`${count} requests were not answered`);
    },
    received: (count) => {
      received += count;
      sliceAt(Date.now()).received += count;
    },
    report: () => ({
      slices: [...slices].sort(([a], [b]) => a - b).map(([at, slice]) => sliceTold(at, slice)),
      verbs: Object.fromEntries(
        [...verbs].map(([verb, { ms, failures: failed }]) => [
          verb,
          {
            count: ms.length,
            failures: failed,
            p50Ms: tenths(ms, 0.5) ?? 0,
            p99Ms: tenths(ms, 0.99) ?? 0,
            maxMs: tenths(ms, 1) ?? 0,
          },
        ]),
      ),
      received,
      failures: [...failures],
    }),
  };
}

function sliceTold(
  at: number,
  { ms, failures, received }: { ms: number[]; failures: number; received: number },
): LoadSlice {
  return { at, requests: ms.length, failures, received, p50Ms: tenths(ms, 0.5), p99Ms: tenths(ms, 0.99) };
}
