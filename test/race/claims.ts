import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Statement } from "../../lib/db/statement.ts";
import { textOf, valuesOf, type WrapLine } from "./lines.ts";

/** A job as a worker got it, with the mark of the edit whose payload it carries. */
export interface ClaimedMark {
  scheduleId: string;
  occurrence: number;
  kind: string;
  n: number;
  dueAt: number;
  edit: number;
}

export interface Claim {
  parcel: string;
  fence: number;
  /** By the database's clock, under the gate. */
  claimedAt: number;
  leaseUntil: number;
  jobs: ClaimedMark[];
  /** When settling it was asked for, by the clock beside the database; and what came of it. */
  settleSentAt?: number;
  settled: "never" | "held" | "refused" | "unknown";
  /** The jobs whose delivery the target took. */
  done: Set<string>;
  /** Position among all claims and settles of the run, in the order in which their answers came. */
  claimedAs: number;
  settleSentAs?: number;
}

const claimRows = z.array(
  z.discriminatedUnion("outcome", [
    z.object({
      outcome: z.literal("job"),
      occurrence: z.date(),
      scheduleId: z.string(),
      kind: z.string(),
      n: z.number(),
      dueAt: z.date(),
      payload: z.object({ edit: z.number() }),
    }),
    z.object({
      outcome: z.literal("claimed"),
      more: z.object({ fence: z.number(), claimedAt: z.coerce.date() }),
    }),
    z.object({ outcome: z.enum(["gone", "early", "leased", "ended", "held", "empty", "freed"]) }),
  ]),
);
const settleRows = z.array(z.object({ settled: z.boolean() }));

export interface ClaimRecorder {
  claims: Claim[];
  wrap: WrapLine;
  /** What the target has to say of a job that is being delivered. */
  tookDelivery(job: { scheduleId: string; occurrence: Date; kind: string; n: number }): void;
}

/** Of a job of the cadence, unless it says otherwise. */
export function nameOf(
  scheduleId: string,
  occurrence: number,
  { kind, n }: { kind: string; n: number } = { kind: "cadence", n: 0 },
): string {
  const beside = kind === "cadence" ? "" : ` (${kind} ${n})`;
  return `${scheduleId}@${new Date(occurrence).toISOString()}${beside}`;
}

export function nameOfMark({ scheduleId, occurrence, ...place }: ClaimedMark): string {
  return nameOf(scheduleId, occurrence, place);
}

/** What workers claimed and settled, as their connections saw it: also of workers that died right after. */
export function claimRecorder(clock: Clock): ClaimRecorder {
  const claims: Claim[] = [];
  let step = 0;

  const watchClaim = (statement: Statement) => {
    const [parcel, leaseMs] = valuesOf(statement);
    statement.then(
      (rows) => {
        const seen = claimRows.parse([...asArray(rows)]);
        const jobs = seen.flatMap((row) => (row.outcome === "job" ? [row] : []));
        const claim = seen.find((row) => row.outcome === "claimed")?.more;
        if (claim === undefined) return;
        claims.push({
          parcel: String(parcel),
          fence: claim.fence,
          claimedAt: claim.claimedAt.getTime(),
          leaseUntil: claim.claimedAt.getTime() + Number(leaseMs),
          jobs: jobs.map(({ scheduleId, occurrence, kind, n, dueAt, payload: { edit } }) => ({
            scheduleId,
            occurrence: occurrence.getTime(),
            kind,
            n,
            dueAt: dueAt.getTime(),
            edit,
          })),
          settled: "never",
          done: new Set(),
          claimedAs: ++step,
        });
      },
      () => {},
    );
  };

  const watchSettle = (statement: Statement) => {
    const [parcel, fence] = valuesOf(statement);
    const claim = claims.findLast((each) => each.parcel === String(parcel) && each.fence === Number(fence));
    if (claim === undefined) throw new Error(`Parcel ${parcel} was settled without having been claimed.`);
    claim.settleSentAt = clock.now().getTime();
    claim.settleSentAs = ++step;
    claim.settled = "unknown";
    statement.then(
      (rows) => {
        claim.settled = settleRows.parse([...asArray(rows)])[0]?.settled === true ? "held" : "refused";
      },
      () => {},
    );
  };

  const wrap: WrapLine = (line) => ({
    ...line,
    run: (statement) => {
      const text = textOf(statement);
      if (text.includes("carillon.claim_parcel(")) watchClaim(statement);
      if (text.includes("carillon.settle_parcel(")) watchSettle(statement);
      line.run(statement);
    },
  });
  const tookDelivery: ClaimRecorder["tookDelivery"] = ({ scheduleId, occurrence, ...place }) => {
    const name = nameOf(scheduleId, occurrence.getTime(), place);
    const claim = claims.findLast(({ jobs }) => jobs.some((job) => nameOfMark(job) === name));
    if (claim === undefined) throw new Error(`${name} was delivered without having been claimed.`);
    claim.done.add(name);
  };
  return { claims, wrap, tookDelivery };
}

function asArray(rows: unknown): unknown[] {
  return Array.isArray(rows) ? rows : [];
}
