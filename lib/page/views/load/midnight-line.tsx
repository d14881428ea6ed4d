import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { midnightLoad } from "../../data/load/midnight.ts";
import { estimateText, runsText } from "../../data/load/planned-text.ts";
import { dayText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { PlannedMinute } from "./planned-minute.tsx";

interface MidnightLineProps {
  forecast: Forecast;
  prefix: string | undefined;
}

/** The busiest minute around midnight, and with a spread the number that it leaves there. */
export function MidnightLine({ forecast: { minutes, spread, exact }, prefix }: MidnightLineProps) {
  const zone = useZone();
  const found = midnightLoad(minutes, { spread: spread?.minutes ?? null, zone });
  if (found === null) return null;
  return (
    <p className="quiet">
      Around midnight on {dayText(Date.parse(found.midnight), zone)}, {zone}, 23:50 to 00:10, the busiest
      minute is <PlannedMinute at={found.at} prefix={prefix} /> with {runsText(found.fires, exact)}
      {found.spread === null
        ? ""
        : `; with the spread at most ${estimateText(exact)}${numberText(found.spread)}`}
      .
    </p>
  );
}
