/**
 * The rule of a schedule for clock changes. Fields that are left out follow the rule for its kind
 * of cadence.
 */
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
 * The default rules for clock changes, those of the oldest crons. A fixed time in a gap runs once,
 * at the first instant after the gap, and several times in one gap are one run; in a repeated hour
 * it runs on the first pass only. Any other cadence follows real time: it skips times that do not
 * exist and runs in both passes.
 */
const fixedTimeRule: ClockRule = { gap: "next", overlap: "first" };
const realTimeRule: ClockRule = { gap: "skip", overlap: "both" };

export function clockRule(fixedTime: boolean, dst?: Dst): ClockRule {
  const byKind = fixedTime ? fixedTimeRule : realTimeRule;
  if (dst === undefined) return byKind;
  return { gap: dst.gap ?? byKind.gap, overlap: dst.overlap ?? byKind.overlap };
}
