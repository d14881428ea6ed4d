import type { Clock } from "../../clock.ts";
import { jobId } from "../../job/job-id.ts";
import type { ClaimedJob } from "../../parcel/claimed-job.ts";
import { type Deliver, type Delivery, failed } from "../../target/delivery.ts";
import { die } from "./invocations.ts";
import type { Run } from "./shapes.ts";

const outcomes = {
  done: "succeeded",
  settled: "succeeded",
  again: "again",
  failed: "failed",
  cancelled: "cancelled",
  back: "given-back",
} as const satisfies Record<Delivery["kind"], Run["outcome"]>;

export interface Failing {
  key: string;
  error: string;
  times: number;
}

/** The faults that a test has asked for, and the outcome of each attempt. */
export class Faults {
  readonly runs: Run[] = [];
  readonly #failing: Failing[] = [];
  readonly #takes = new Map<string | undefined, number>();
  readonly #fates: ("twice" | "lost")[] = [];
  #deaths = 0;
  #cuts = 0;

  failNext(failing: Failing): void {
    if (failing.times > 0) this.#failing.push(failing);
  }

  /** The keys of schedules whose next attempts fail. */
  failingKeys(): string[] {
    return this.#failing.map(({ key }) => key);
  }

  /** Without a key, of all schedules that have no time of their own. */
  take(key: string | undefined, ms: number): void {
    this.#takes.set(key, ms);
  }

  takesMs(key: string): number {
    return this.#takes.get(key) ?? this.#takes.get(undefined) ?? 0;
  }

  killNext(times: number): void {
    this.#deaths += times;
  }

  cutNext(): void {
    this.#cuts += 1;
  }

  nextMessages(fate: "twice" | "lost", times: number): void {
    this.#fates.push(...Array.from({ length: times }, () => fate));
  }

  fateOfMessage(): "arrives" | "twice" | "lost" {
    return this.#fates.shift() ?? "arrives";
  }

  /** Whether some message is still to be lost or doubled. */
  areMessagesMeant(): boolean {
    return this.#fates.length > 0;
  }

  /** Comes between the worker and the targets. */
  around(deliver: Deliver, clock: Pick<Clock, "now">, cutConnections: () => Promise<unknown>): Deliver {
    return async (jobs, context) => {
      const at = clock.now().toISOString();
      const failing = jobs.map((job) => this.#failureOf(job));
      const rest = jobs.filter((_, index) => failing[index] === undefined);
      const delivered = (rest.length === 0 ? [] : await deliver(rest, context)).values();
      const all = failing.map(
        (error) =>
          (error === undefined ? delivered.next().value : undefined) ?? failed(error ?? "No outcome."),
      );
      const dies = this.#deaths > 0;
      for (const [index, job] of jobs.entries()) this.#note(job, at, dies ? null : (all[index] ?? null));
      if (dies) {
        this.#deaths -= 1;
        // The targets have received everything, and the worker cannot tell it any more.
        await die();
      }
      if (this.#cuts > 0) {
        this.#cuts -= 1;
        await cutConnections();
      }
      return all;
    };
  }

  #note({ key, occurrence, attempt, ...job }: ClaimedJob, at: string, delivery: Delivery | null): void {
    this.runs.push({
      jobId: jobId({ ...job, occurrence }),
      key,
      occurrence: occurrence.toISOString(),
      attempt: attempt + 1,
      at,
      outcome: delivery === null ? "worker-died" : outcomes[delivery.kind],
      error: delivery?.kind === "failed" ? delivery.error : null,
    });
  }

  /** The error that the next attempt of this schedule ends with, if a test has asked for one. */
  #failureOf({ key }: ClaimedJob): string | undefined {
    const index = this.#failing.findIndex((each) => each.key === key);
    const failing = this.#failing[index];
    if (failing === undefined) return undefined;
    failing.times -= 1;
    if (failing.times === 0) this.#failing.splice(index, 1);
    return failing.error;
  }
}
