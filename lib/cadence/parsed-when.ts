import type { Cadence } from "./cadence-kinds.ts";
import type { Dst } from "./zone/clock-rule.ts";

export interface ParsedWhen {
  ok: true;
  cadence: Cadence;
  /**
   * True for a time counted from now (`in 3d`): each put of the same text means another instant.
   */
  relative: boolean;
  /** The `cadence` of responses. */
  normal: string;
  /** Plain English, to follow "runs". */
  description: string;
  /** Warnings, each a whole sentence. */
  warnings: string[];
}

export interface WhenContext {
  /** A canonical name from `canonicalTimezone`. */
  timezone: string;
  now: number;
  /** The key of the schedule, which determines the value of an `H`. */
  key: string;
  /** The first occurrence of an interval. */
  startsAt?: number | null;
  dst?: Dst | null;
}

/** The instant up to which nothing runs: now, or just before a later `startsAt`. */
export function before({ now, startsAt }: WhenContext): number {
  return startsAt == null ? now : Math.max(now, startsAt - 1);
}

/**
 * The rule for clock changes, as the field of a cadence; no field if the caller overrides nothing.
 */
export function overrideOf({ dst }: WhenContext): { dst?: Dst } {
  const { gap, overlap } = dst ?? {};
  return gap || overlap ? { dst: { ...(gap && { gap }), ...(overlap && { overlap }) } } : {};
}
