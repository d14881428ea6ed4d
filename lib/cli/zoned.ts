/** A zone's clock: what it shows at an instant, and at which instants it shows something. */
export interface ZoneClock {
  zone: string;
  /** Such as `2026-12-01 09:00:00`; with its offset in an hour that the clock shows twice. */
  wall(ms: number): string;
  /** The instants at which the clock shows a wall time, which is given as if it were in UTC. */
  instantsOf(wallMs: number): number[];
}

/** Undefined for a name that is no time zone. Without a name: the zone of this machine. */
export function zoneClock(zone: string | undefined): ZoneClock | undefined {
  const format = formatOf(zone);
  if (format === undefined) return undefined;
  const instantsOf = (wallMs: number) => instantsShowing(format, wallMs);
  return {
    zone: format.resolvedOptions().timeZone,
    instantsOf,
    wall: (ms) => {
      const wallMs = ms + offsetAt(format, ms);
      const text = wallText(wallMs);
      return instantsOf(wallMs).length < 2 ? text : `${text}${offsetText(wallMs - ms)}`;
    },
  };
}

function formatOf(zone: string | undefined): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  } catch {
    return undefined;
  }
}

/** How far the zone's clock is ahead of UTC. */
function offsetAt(format: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const shown = Date.UTC(
    part("year"),
    part("month") - 1,
    part("day"),
    part("hour"),
    part("minute"),
    part("second"),
  );
  return shown - Math.floor(ms / 1_000) * 1_000;
}

const dayMs = 86_400_000;

/** A clock change lies between the offsets of a day before and a day after. */
function instantsShowing(format: Intl.DateTimeFormat, wallMs: number): number[] {
  const offsets = new Set([offsetAt(format, wallMs - dayMs), offsetAt(format, wallMs + dayMs)]);
  return [...offsets]
    .map((offset) => ({ offset, ms: wallMs - offset }))
    .filter(({ offset, ms }) => offsetAt(format, ms) === offset)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
}

export function wallText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 19).replace("T", " ");
}

/** Such as `+02:00`. */
export function offsetText(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  const two = (value: number) => String(value).padStart(2, "0");
  return `${offsetMs < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
