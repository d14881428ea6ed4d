import type { LoadOrder } from "./load-orders.ts";
import { payloadFor } from "./steady-schedules.ts";

export interface LoadRequest {
  method: string;
  path: string;
  body?: unknown;
}

type Verb = keyof LoadOrder["rates"];

/** The n-th request of each kind. Its schedule is pseudo-random, and the same in each run. */
export function requestsOf({
  standing,
  targets,
  rates,
}: LoadOrder): Record<Verb, (n: number) => LoadRequest> {
  const keyOf = (n: number) => `${standing.prefix}:${scattered(n, standing.count)}`;
  const targetOf = (n: number) => targets[n % targets.length];
  const pathOf = (key: string) => `/v1/schedules/${encodeURIComponent(key)}`;
  return {
    soon: (n) => ({
      method: "PUT",
      path: pathOf(`soon:${n}`),
      body: {
        when: `in ${1 + (n % 5)}s`,
        target: targetOf(n),
        payload: payloadFor(targetOf(n), n),
        deleteOnEnd: true,
      },
    }),
    creates: (n) => ({
      method: "PUT",
      path: pathOf(`made:${n}`),
      body: {
        when: "every 60s",
        target: targetOf(n),
        payload: payloadFor(targetOf(n), n),
        group: `made:${n % 1_000}`,
      },
    }),
    edits: (n) => ({ method: "PATCH", path: pathOf(keyOf(n)), body: editOf(n) }),
    // As many deletes as creates, later, so that deleted schedules had time to fire.
    deletes: (n) => {
      const made = Math.floor((n * rates.creates) / rates.deletes);
      return made < deleteAfter * rates.creates
        ? { method: "DELETE", path: pathOf(`${standing.prefix}:${standing.count + n}`) }
        : { method: "DELETE", path: pathOf(`made:${made - deleteAfter * rates.creates}`) };
    },
    reads: (n) => ({ method: "GET", path: readOf(n, keyOf(n)) }),
  };
}

/**
 * How many seconds after its creation a schedule is deleted. Deletes before the first of these take
 * existing schedules that are neither read nor edited.
 */
export const deleteAfter = 60;

/** Half of the edits change the cadence, so that jobs that are not due yet are planned again. */
function editOf(n: number): object {
  if (n % 2 === 0) return { payload: { edit: n } };
  return { startsAt: new Date(Date.UTC(2_020, 0, 1) + scattered(n, 60_000)) };
}

function readOf(n: number, key: string): string {
  const path = `/v1/schedules/${encodeURIComponent(key)}`;
  switch (n % 5) {
    case 0:
      return `${path}/jobs?limit=10`;
    case 1:
      return `${path}/next?n=5`;
    case 2:
      return `/v1/schedules?prefix=${encodeURIComponent(key.slice(0, -1))}&limit=20`;
    case 3:
      return "/v1/stats";
    default:
      return path;
  }
}

/**
 * A prime step without a common factor with the counts in use: each number occurs once before any
 * occurs twice.
 */
function scattered(n: number, count: number): number {
  return (n * 7_919) % count;
}
