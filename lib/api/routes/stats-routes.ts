import type * as z from "zod";
import type { Counts, Stats } from "../../stats/stats.ts";
import type { Operations } from "../operations/operations.ts";
import { refusePrefixed } from "../request/reach.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import { statsAnswer, statsExample } from "../views/stats-shape.ts";

/** Statistics over all schedules. */
export function statsRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/stats",
      scope: "read",
      query: noQuery,
      doc: {
        summary: "Read current counts and those of the last hour and day",
        description:
          "Counts are rolled up by the tick, so the request is as fast with millions of schedules. A token with a prefix has no access.",
        tag: "Insight",
        answers: { 200: { what: "The counts", schema: statsAnswer, example: statsExample } },
      },
      answer: async ({ token }) => {
        refusePrefixed(token, "The statistics of all schedules");
        return { status: 200, body: statsView(await operations.readStats()) };
      },
    }),
  ];
}

function statsView({ schedules, standing, lastHour, lastDay }: Stats): z.input<typeof statsAnswer> {
  const {
    now,
    waiting,
    due,
    ahead,
    held,
    running,
    retrying,
    oldestDueAt,
    parcels,
    backlog,
    dead,
    quarantined,
  } = standing;
  return {
    asOf: now.toISOString(),
    schedules,
    jobs: { waiting, due, ahead, held, running, retrying, backlog, dead },
    oldestDue:
      oldestDueAt === null
        ? null
        : { readyAt: oldestDueAt.toISOString(), lateMs: now.getTime() - oldestDueAt.getTime() },
    parcels,
    quarantine: { ...quarantined, oldestAt: quarantined.oldestAt?.toISOString() ?? null },
    plan: {
      to: standing.plannedTo.toISOString(),
      lagMs: Math.max(0, now.getTime() - standing.plannedTo.getTime()),
      lastTickAt: standing.rolledUpAt?.toISOString() ?? null,
    },
    lastHour: countsView(lastHour),
    lastDay: countsView(lastDay),
  };
}

function countsView({ from, ...counts }: Counts): z.input<typeof statsAnswer>["lastHour"] {
  return { from: from.toISOString(), ...counts };
}
