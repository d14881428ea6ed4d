import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Statement } from "../../lib/db/statement.ts";
import { textOf, valuesOf, type WrapLine } from "./lines.ts";

/** A claimed job, with the number of the edit that wrote its payload. */
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
  /** The time of the claim by the database's clock, read under the gate. */
  claimedAt: number;
  leaseUntil: number;
  jobs: ClaimedMark[];
  /** The time when settling was requested, by the clock beside the database, and its result. */
  settleSentAt?: number;
  settled: "never" | "held" | "refused" | "unknown";
  /** The jobs that the target accepted. */
  done: Set<string>;
  /** The position among all claims and settles of the run, in the order of their answers. */
  claimedAs: number;
  settleSentAs?: number;
}

const instant = z.number().transform((ms) => new Date(Math.round(ms)));
/** Fields with default values may be missing. */
const jobRow = z.object({
  occurrence: instant,
  scheduleId: z.string(),
  kind: z.string().nullable(),
  n: z.number().nullable(),
  dueAt: z.date().nullable(),
  payload: z.object({ edit: z.number() }),
});
const claimed = z.object({ fence: z.number(), claimedAt: z.coerce.date() });
const claimRows = z.array(
  z.discriminatedUnion("outcome", [
    jobRow.extend({ outcome: z.literal("job") }),
    z.object({ outcome: z.literal("claimed"), more: claimed }),
    z.object({ outcome: z.enum(["gone", "early", "leased", "ended", "held", "empty", "freed"]) }),
  ]),
);
/**
 * The result of a claim of several parcels: jobs and claims by parcel. Jobs of a parcel that was
 * not claimed are ignored.
 */
const together = z.object({ parcel: z.string() });
const rowsTogether = z.array(
  z.union([jobRow.extend(together.shape), together.extend({ occurrence: z.null(), more: claimed })]),
);
const settleRows = z.array(z.object({ settled: z.boolean() }));
const settledTogether = z.array(z.object({ settled: z.string().nullable() }));
/** The driver wraps lists in an object. */
const listOf = <Value extends z.ZodType>(value: Value) =>
  z.object({ value: z.array(value) }).transform((box) => box.value);
const parcels = z.tuple([listOf(z.string()), listOf(z.number())]).rest(z.unknown());

export interface ClaimRecorder {
  claims: Claim[];
  /** The number of parcels that were claimed together with another. */
  companions(): number;
  wrap: WrapLine;
  /** Records that the target accepted a delivered job. */
  tookDelivery(job: { scheduleId: string; occurrence: Date; kind: string; n: number }): void;
}

/** The name of a job in broken rules. It has kind and number only for a job beside the cadence. */
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

/**
 * The claims and settles of workers as their connections saw them, including workers that died
 * right after.
 */
export function claimRecorder(clock: Clock): ClaimRecorder {
  const claims: Claim[] = [];
  let step = 0;
  let companions = 0;

  const noteClaim = (
    parcel: string,
    { fence, claimedAt }: z.infer<typeof claimed>,
    leaseMs: number,
    jobs: readonly z.infer<typeof jobRow>[],
  ) => {
    claims.push({
      parcel,
      fence,
      claimedAt: claimedAt.getTime(),
      leaseUntil: claimedAt.getTime() + leaseMs,
      jobs: jobs.map(({ scheduleId, occurrence, kind, n, dueAt, payload: { edit } }) => ({
        scheduleId,
        occurrence: occurrence.getTime(),
        kind: kind ?? "cadence",
        n: n ?? 0,
        dueAt: (dueAt ?? occurrence).getTime(),
        edit,
      })),
      settled: "never",
      done: new Set(),
      claimedAs: ++step,
    });
  };

  const watchClaim = (statement: Statement) => {
    // The parameters about omitted payloads come before the claim's own values.
    const [parcel, leaseMs] = valuesOf(statement).slice(-3);
    onRows(statement, (rows) => {
      const seen = claimRows.parse(rows);
      const claim = seen.find((row) => row.outcome === "claimed")?.more;
      const jobs = seen.flatMap((row) => (row.outcome === "job" ? [row] : []));
      if (claim !== undefined) noteClaim(String(parcel), claim, Number(leaseMs), jobs);
    });
  };

  const watchClaims = (statement: Statement) => {
    const leaseMs = valuesOf(statement).at(-1);
    onRows(statement, (rows) => {
      const seen = rowsTogether.parse(rows);
      for (const row of seen) {
        if (row.occurrence !== null) continue;
        const jobs = seen.flatMap((each) =>
          each.occurrence !== null && each.parcel === row.parcel ? [each] : [],
        );
        noteClaim(row.parcel, row.more, Number(leaseMs), jobs);
        if (textOf(statement).includes("claim_company")) companions += 1;
      }
    });
  };

  const sentSettle = (parcel: string, fence: number) => {
    const claim = claims.findLast((each) => each.parcel === parcel && each.fence === fence);
    if (claim === undefined) throw new Error(`Parcel ${parcel} was settled without having been claimed.`);
    claim.settleSentAt = clock.now().getTime();
    claim.settleSentAs = ++step;
    claim.settled = "unknown";
    return claim;
  };

  const watchSettle = (statement: Statement) => {
    const [parcel, fence] = valuesOf(statement);
    const claim = sentSettle(String(parcel), Number(fence));
    onRows(statement, (rows) => {
      claim.settled = settleRows.parse(rows)[0]?.settled === true ? "held" : "refused";
    });
  };

  const watchSettles = (statement: Statement) => {
    const [ids, fences] = parcels.parse(valuesOf(statement));
    const sent = ids.map((id, index) => sentSettle(id, fences[index] ?? 0));
    onRows(statement, (rows) => {
      const settled = new Set(settledTogether.parse(rows).map((row) => row.settled));
      for (const claim of sent) claim.settled = settled.has(claim.parcel) ? "held" : "refused";
    });
  };

  const wrap: WrapLine = (line) => ({
    ...line,
    run: (statement) => {
      const text = textOf(statement);
      if (text.includes("carillon.claim_parcel(")) watchClaim(statement);
      if (/carillon\.claim_(?:parcels|company)\(/.test(text)) watchClaims(statement);
      if (text.includes("carillon.settle_parcel(")) watchSettle(statement);
      if (text.includes("carillon.settle_parcels(")) watchSettles(statement);
      line.run(statement);
    },
  });
  const tookDelivery: ClaimRecorder["tookDelivery"] = ({ scheduleId, occurrence, ...place }) => {
    const name = nameOf(scheduleId, occurrence.getTime(), place);
    const claim = claims.findLast(({ jobs }) => jobs.some((job) => nameOfMark(job) === name));
    if (claim === undefined) throw new Error(`${name} was delivered without having been claimed.`);
    claim.done.add(name);
  };
  return { claims, companions: () => companions, wrap, tookDelivery };
}

/** A failed statement records nothing; the worker gets the error. */
function onRows(statement: Statement, note: (rows: unknown[]) => void): void {
  statement.then(
    (rows) => note(Array.isArray(rows) ? [...rows] : []),
    () => {},
  );
}
