let reader: string | undefined;

/** The browser's zone. Asking for it takes a millisecond, and every time on the screen asks. */
export function readerZone(): string {
  reader ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return reader;
}

export function isZone(name: string): boolean {
  try {
    formatsOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The formats of one zone. Making one takes a millisecond, so they are kept. */
interface Formats {
  clock: Intl.DateTimeFormat;
  minute: Intl.DateTimeFormat;
  day: Intl.DateTimeFormat;
  date: Intl.DateTimeFormat;
}

const made = new Map<string, Formats>();

function formatsOf(timeZone: string): Formats {
  const known = made.get(timeZone);
  if (known !== undefined) return known;
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone } as const;
  const formats = {
    clock: new Intl.DateTimeFormat("en-GB", { ...time, second: "2-digit" }),
    minute: new Intl.DateTimeFormat("en-GB", time),
    day: new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone }),
    date: new Intl.DateTimeFormat("sv-SE", { year: "numeric", month: "2-digit", day: "2-digit", timeZone }),
  };
  made.set(timeZone, formats);
  return formats;
}

export const clockText = (at: number, zone: string) => formatsOf(zone).clock.format(at);
export const minuteText = (at: number, zone: string) => formatsOf(zone).minute.format(at);
export const dayText = (at: number, zone: string) => formatsOf(zone).day.format(at);
export const dateText = (at: number, zone: string) => formatsOf(zone).date.format(at);

/** `2026-03-29 03:00` of the server's `2026-03-29T03:00:00+02:00`. */
export const wallMinute = (wall: string) => wall.slice(0, 16).replace("T", " ");

/** `09:00` of today, `tomorrow 09:00`, `Mon, 30 Nov 09:00`: the day only where it is another one. */
export function wallText(
  at: number,
  { zone, now, isExact }: { zone: string; now: number; isExact: boolean },
): string {
  const time = isExact ? clockText(at, zone) : minuteText(at, zone);
  const day = dateText(at, zone);
  if (day === dateText(now, zone)) return time;
  if (day === dateText(now + dayMs, zone)) return `tomorrow ${time}`;
  if (day === dateText(now - dayMs, zone)) return `yesterday ${time}`;
  const isFar = Math.abs(at - now) > farMs;
  return isFar ? `${day} ${time}` : `${dayText(at, zone)} ${time}`;
}

const dayMs = 86_400_000;
const farMs = 180 * dayMs;
