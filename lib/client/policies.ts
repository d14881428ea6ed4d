import type { DurationText } from "./json.ts";

/** What a schedule is found by and read by. */
export interface Labels {
  group?: string | null | undefined;
  tags?: string[] | undefined;
  description?: string | null | undefined;
}

/** What becomes of a schedule's jobs. */
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
