import type { NextOccurrences } from "../../../client/time.ts";
import { Instant } from "../../parts/instant.tsx";
import { Panel } from "../../parts/panel.tsx";

const shown = 12;

export function ComingList({ name, next }: { name: string; next: NextOccurrences | undefined }) {
  return (
    <Panel title="Next runs" note={next?.timezone}>
      {next?.details.length === 0 ? <p className="rows-none">No run comes.</p> : null}
      <ol className="past">
        {next?.details.slice(0, shown).map(({ at, wall, note, held }) => (
          <li key={at}>
            <Instant at={at} of={name} />
            <span className="mono quiet">{wall}</span>
            <span className="quiet">
              {[held ? "held" : null, note].filter((part) => part !== null).join(", ")}
            </span>
            <span />
          </li>
        ))}
      </ol>
    </Panel>
  );
}
