import type { Cadence } from "./cadence-kinds.ts";
import type { Dst } from "./zone/clock-rule.ts";

export interface ParsedWhen {
  ok: true;
  cadence: Cadence;
  /** Counted from now (`in 3d`): putting it again means a new instant. */
  relative: boolean;
  /** The `cadence` of responses. */
  normal: string;
  /** Plain English, to stand after "runs". */
  description: string;
  /** What may surprise, in whole sentences. */
  warnings: string[];
}

export interface WhenContext {
  /** A canonical name, as `canonicalTimezone` gives it. */
  timezone: string;
  now: number;
  /** The schedule's key, from which what is spread by key takes its place. */
  key: string;
  /** Where intervals begin to count. */
  startsAt?: number | null;
  dst?: Dst | null;
}

/** Nothing runs at or before this. */
export function before({ now, startsAt }: WhenContext): number {
  return startsAt == null ? now : Math.max(now, startsAt - 1);
}

/** To be spread into a cadence: an override that says nothing is none. */
export function overrideOf({ dst }: WhenContext): { dst?: Dst } {
  const { gap, overlap } = dst ?? {};
  return gap || overlap ? { dst: { ...(gap && { gap }), ...(overlap && { overlap }) } } : {};
}
