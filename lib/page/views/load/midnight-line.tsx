import type { Forecast } from "../../../client/forecast.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { midnightLoad } from "../../data/load/midnight.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { PlannedMinute } from "./planned-minute.tsx";

interface MidnightLineProps {
  forecast: Forecast;
  prefix: string | undefined;
}

/** The busiest minute around midnight, and with a spread the number that it leaves there. */
export function MidnightLine({ forecast: { minutes, spread }, prefix }: MidnightLineProps) {
  const zone = useZone();
  const found = midnightLoad(minutes, { spread: spread?.minutes ?? null, zone });
  if (found === null) return null;
  return (
    <p className="quiet">
      Around midnight, 23:50 to 00:10, the busiest minute is <PlannedMinute at={found.at} prefix={prefix} />{" "}
      with {amountText({ count: found.fires, more: false }, "run")}
      {found.spread === null ? "" : `; with the spread at most ${numberText(found.spread)}`}.
    </p>
  );
}
