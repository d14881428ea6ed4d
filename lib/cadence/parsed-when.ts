import type { Cadence } from "./cadence-kinds.ts";
import type { Dst } from "./zone/clock-rule.ts";

export interface ParsedWhen {
  ok: true;
  cadence: Cadence;
  /** Counted from now (`in 3d`): another put with it means a new instant. */
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
  /** The key of the schedule, which determines each value that is spread by key. */
  key: string;
  /** The first occurrence of an interval. */
  startsAt?: number | null;
  dst?: Dst | null;
}

/** Nothing runs at or before this. */
export function before({ now, startsAt }: WhenContext): number {
  return startsAt == null ? now : Math.max(now, startsAt - 1);
}

/** The override to spread into a cadence; an override without fields is none. */
export function overrideOf({ dst }: WhenContext): { dst?: Dst } {
  const { gap, overlap } = dst ?? {};
  return gap || overlap ? { dst: { ...(gap && { gap }), ...(overlap && { overlap }) } } : {};
}
