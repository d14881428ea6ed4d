import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { scheduleQuery } from "../data/one-schedule-queries.ts";
import { readerZone } from "../data/time/zone.ts";
import { useSession } from "../hooks/session-context.ts";

/** The zone of all times on the screen: the reader's, UTC, that of the schedule, or the address's. */
export function ZoneSwitch() {
  const { zone } = useSearch({ from: "__root__" });
  const navigate = useNavigate();
  const own = readerZone();
  const ofSchedule = useScheduleZone();
  const shown = zone ?? own;
  const named = new Set([own, "UTC", ofSchedule, zone].filter((each) => each !== undefined));
  // Some 400 zones: no view waits for them.
  const [others, setOthers] = useState<readonly string[]>([]);
  const addOthers = () => setOthers(Intl.supportedValuesOf("timeZone").filter((each) => !named.has(each)));
  const choose = (chosen: string) =>
    void navigate({
      to: ".",
      search: (search: Record<string, unknown>) => ({ ...search, zone: chosen === own ? undefined : chosen }),
      replace: true,
    });
  return (
    <label className="zone">
      <span className="hidden">Zone of all times</span>
      <select
        value={shown}
        onChange={(event) => choose(event.target.value)}
        onFocus={addOthers}
        onPointerEnter={addOthers}
      >
        {[...named].map((each) => (
          <option key={each} value={each}>
            {each === ofSchedule && each !== shown ? `${each}, of this schedule` : each}
          </option>
        ))}
        {others.length === 0 ? null : (
          <optgroup label="All zones">
            {others.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  );
}

/** The zone of the schedule on the screen, which its view has asked for. */
function useScheduleZone(): string | undefined {
  const { carillon } = useSession();
  const { key } = useParams({ strict: false });
  return useQuery({ ...scheduleQuery(carillon, key ?? ""), enabled: false }).data?.timezone;
}
