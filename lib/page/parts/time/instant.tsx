import { Link } from "@tanstack/react-router";
import { relativeText } from "../../data/amounts.ts";
import { clockText, dateText, wallText } from "../../data/time/zone.ts";
import { useNow } from "../../hooks/use-now.ts";
import { useZone } from "../../hooks/use-zone.ts";

interface InstantProps {
  at: string;
  /** The schedule that the instant belongs to: then it is a link to its explanation. */
  of?: string;
  /** The occurrence to explain, where the instant shown is another one, such as its due time. */
  search?: string;
  /** Which of the two comes first; the other one is in the hint. */
  as?: "wall" | "exact" | "relative";
}

/** A time of the screen's zone, with the same time in words of now and in UTC as a hint. */
export function Instant({ at, of, search = at, as = "wall" }: InstantProps) {
  const zone = useZone();
  const now = useNow();
  const instant = Date.parse(at);
  const wall = wallText(instant, { zone, now, isExact: as === "exact" });
  const relative = relativeText(instant, now);
  const hint = `${dateText(instant, zone)} ${clockText(instant, zone)} ${zone}\n${at}\n${relative}`;
  const text = (
    <time dateTime={at} title={hint}>
      {as === "relative" ? relative : wall}
    </time>
  );
  if (of === undefined) return text;
  return (
    <Link className="instant" to="/schedules/$key" params={{ key: of }} search={{ why: search }}>
      {text}
    </Link>
  );
}
