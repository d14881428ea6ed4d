import { UsageFault } from "./fault.ts";
import { zoneClock } from "./zoned.ts";

/** How instants are shown to people. */
export interface Times {
  zone: string;
  /**
   * Such as `2026-12-01 09:00:00` in the zone, with its offset in an hour that the zone's clocks
   * show twice; `-` for none.
   */
  wall(instant: string | null | undefined): string;
  /** Such as `in 3h` or `5m ago`. */
  relative(instant: string | null | undefined): string;
  /** The wall time and the relative time. */
  both(instant: string | null | undefined): string;
  /** A sentence of the API with its instants in the zone; what it quotes stays as it is. */
  inSentence(sentence: string): string;
}

export function timesIn(zone: string | undefined, now: () => number): Times {
  const clock = zoneClock(zone);
  if (clock === undefined)
    throw new UsageFault(
      `--timezone takes the name of an IANA time zone, such as Europe/Berlin; ${JSON.stringify(zone)} is not one.`,
    );
  const wall = (instant: string | null | undefined) =>
    instant === null || instant === undefined ? "-" : clock.wall(Date.parse(instant));
  const relative = (instant: string | null | undefined) =>
    instant === null || instant === undefined ? "" : relativeText(Date.parse(instant) - now());
  return {
    zone: clock.zone,
    wall,
    relative,
    inSentence: (sentence) =>
      sentence.replace(/`[^`]*`|"[^"]*"|\d{4}-\d\d-\d\dT[\d:.]+Z/g, (text) =>
        /^\d/.test(text) ? wall(text) : text,
      ),
    both: (instant) => (relative(instant) === "" ? wall(instant) : `${wall(instant)} (${relative(instant)})`),
  };
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

function relativeText(ms: number): string {
  const text = durationText(Math.abs(ms));
  if (text === "0s") return "now";
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** The two largest units: `3h 5m`, `2d`, `40s`. From two weeks on only the days. */
export function durationText(ms: number): string {
  let rest = Math.round(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [name, each] of units) {
    const count = Math.floor(rest / each);
    rest -= count * each;
    if (count > 0) parts.push(`${count}${name}`);
    if (parts.length === 2 || (name === "d" && count >= 14)) break;
    if (parts.length === 1 && count === 0) break;
  }
  return parts.length === 0 ? "0s" : parts.join(" ");
}

/** A measured time: `210 ms`, `1.5 s`, `3m 20s`. */
export function measuredText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "-";
  if (Math.abs(ms) < 1_000) return `${Math.round(ms)} ms`;
  if (Math.abs(ms) < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 0 ? `-${durationText(-ms)}` : durationText(ms);
}
