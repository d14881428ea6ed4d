import { minuteMs } from "./unfold-minutes.ts";

/** A minute, and how many of its fires a spread would distribute. */
export interface Spreadable {
  fires: number;
  together: number;
}

export interface Flattened {
  spread: string;
  /** The heaviest minute with that spread. */
  peak: number;
}

const spreads = [
  { spread: "5m", ms: 5 * minuteMs },
  { spread: "15m", ms: 15 * minuteMs },
  { spread: "1h", ms: 60 * minuteMs },
] as const;

/**
 * Computes the heaviest minute if every schedule that fires together with others had a `spread`.
 * `before` are the minutes just before the line: their fires would move into it.
 */
export function flattened(line: readonly Spreadable[], before: readonly Spreadable[]): Flattened[] {
  return spreads
    .filter(({ ms }) => ms < line.length * minuteMs)
    .map(({ spread, ms }) => ({ spread, peak: Math.max(0, ...curveWith(line, before, ms)) }));
}

/**
 * The fires of each minute with a spread. Each schedule keeps one place within it, so the fires of
 * a minute are distributed evenly over that minute and the next ones.
 */
export function curveWith(
  line: readonly Spreadable[],
  before: readonly Spreadable[],
  spreadMs: number,
): number[] {
  const all = [...before, ...line];
  const whole = Math.floor(spreadMs / minuteMs);
  const rest = spreadMs - whole * minuteMs;
  let sum = 0;
  const moved = all.map(({ together }, index) => {
    sum += together - (all[index - whole]?.together ?? 0);
    const last = all[index - whole]?.together ?? 0;
    return (sum * minuteMs + last * rest) / spreadMs;
  });
  return line.map(({ fires, together }, index) =>
    Math.max(0, Math.ceil(fires - together + (moved[index + before.length] ?? 0) - 1e-6)),
  );
}
