import { MS_PER_DAY } from "./civil.ts";
import { zoneNamed } from "./zone-spans.ts";

/** The wall time of a zone at an instant: `2026-03-29T03:00:00+02:00`. */
export function wallText(instant: number, timezone: string): string {
  const { offset } = zoneNamed(timezone).spanAt(instant);
  const wall = new Date(instant + offset).toISOString().replace(/(?:\.000)?Z$/, "");
  return `${wall}${offset < 0 ? "-" : "+"}${timeText(Math.abs(offset))}`;
}

/** The date of a wall instant (see civil.ts): `2026-03-29`. */
export function dateText(wall: number): string {
  return new Date(wall).toISOString().split("T", 1).join();
}

/** The time of day of a wall instant: `02:30`, with seconds if they are not zero. */
export function timeText(wall: number): string {
  const seconds = Math.floor((((wall % MS_PER_DAY) + MS_PER_DAY) % MS_PER_DAY) / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts
    .filter((part, index) => index < 2 || part > 0)
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}
