/** What a schedule asks for where clocks change; what it leaves out follows the rule for its kind of cadence. */
export interface Dst {
  /** A time that does not exist runs at the first instant after the gap, or not at all. */
  gap?: "next" | "skip" | undefined;
  /** A time that comes twice runs on the first pass, on the last, or on both. */
  overlap?: "first" | "last" | "both" | undefined;
}

export interface ClockRule {
  gap: "next" | "skip";
  overlap: "first" | "last" | "both";
}

/**
 * The rule for clock changes, that of the oldest crons. A fixed time that falls into a gap comes once, at the first instant
 * after it, and several in one gap are one; in a repeated hour it comes on the first pass only. Anything else follows real
 * time: it leaves out what does not exist and comes in both passes.
 */
const fixedTimeRule: ClockRule = { gap: "next", overlap: "first" };
const realTimeRule: ClockRule = { gap: "skip", overlap: "both" };

export function clockRule(fixedTime: boolean, dst?: Dst): ClockRule {
  const byKind = fixedTime ? fixedTimeRule : realTimeRule;
  if (dst === undefined) return byKind;
  return { gap: dst.gap ?? byKind.gap, overlap: dst.overlap ?? byKind.overlap };
}
