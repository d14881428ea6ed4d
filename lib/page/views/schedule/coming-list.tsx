import type { NextOccurrences } from "../../../client/time.ts";
import { wallMinute } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Pending } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

const shown = 12;

/** The coming runs on the clocks of the screen and, where they differ, of the schedule. */
export function ComingList({ name, next }: { name: string; next: NextOccurrences | undefined }) {
  const zone = useZone();
  const isOther = next !== undefined && next.timezone !== zone;
  return (
    <Panel title="Next runs" note={isOther ? `in ${zone}, and in the schedule's zone` : next?.timezone}>
      {next === undefined ? <Pending /> : null}
      {next?.details.length === 0 ? <p className="rows-none">No run comes.</p> : null}
      <ol className="past">
        {next === undefined ? <Pending /> : null}
        {next?.details.slice(0, shown).map(({ at, wall, note, held }) => (
          <li key={at} data-row>
            <Instant at={at} of={name} />
            <span className="quiet">{isOther ? `${wallMinute(wall)} ${next.timezone}` : null}</span>
            <span className="quiet">
              {[held ? "held" : null, note].filter((part) => part !== null).join(", ")}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
