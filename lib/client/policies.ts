import type { DurationText } from "./json.ts";

/** Fields by which schedules are found and described. */
export interface Labels {
  group?: string | null | undefined;
  tags?: string[] | undefined;
  description?: string | null | undefined;
}

/** Fields that determine how a schedule's jobs run. */
export interface Policies {
  catchUp?: Some<CatchUp> | undefined;
  deadline?: DurationText | null | undefined;
  overlap?: "allow" | "skip" | "queue" | undefined;
  retry?: Some<Retry> | undefined;
  timeout?: DurationText | undefined;
  holdAfter?: number | null | undefined;
  priority?: "high" | "normal" | "low" | undefined;
  serial?: boolean | undefined;
  delivery?: "ledger" | "pulse" | undefined;
  deleteOnEnd?: boolean | undefined;
}

export interface CatchUp {
  policy: "latest" | "all" | "skip";
  within: DurationText | null;
  limit: number;
}

export interface Retry {
  attempts: number;
  backoff: "fixed" | "linear" | "exponential" | "list";
  base: DurationText;
  max: DurationText;
  jitter: "full" | "none";
  delays?: DurationText[] | undefined;
}

export type Some<Whole> = { [Name in keyof Whole]?: Whole[Name] | undefined };
