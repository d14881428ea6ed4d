import type { ScheduleFilter } from "../../../client/schedule.ts";
import { numberText } from "../../data/amounts.ts";
import { selectedMax } from "../../data/bulk/selected-max.ts";
import { useMay } from "../../data/token-query.ts";
import { BulkActions } from "./bulk-actions.tsx";
import type { KeySelection } from "./selection.ts";

interface BulkBarProps {
  filter: ScheduleFilter;
  selection: KeySelection;
}

/** The actions on the selected schedules or, without a selection, on all that match. */
export function BulkBar({ filter, selection: { keys, clear } }: BulkBarProps) {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const isSelected = keys.size > 0;
  const others = isFiltered ? "all that match" : "all";
  // All that there are cannot be deleted at once.
  const mayDelete = useMay("deleteManySchedules") && isFiltered;
  return (
    <section className="bulk-bar" aria-label="Change many schedules">
      {isSelected ? (
        <b>
          {numberText(keys.size)} selected{keys.size === selectedMax ? ", the most" : ""}
        </b>
      ) : (
        <span className="quiet">
          Select some<span className="with-keys"> (Shift selects a range)</span>.
        </span>
      )}
      {isSelected ? (
        <BulkActions selection={{ keys: [...keys] }} what="these" />
      ) : (
        <details>
          <summary className="link">
            Hold, release{mayDelete ? ", change or delete" : " or change"} {others}
          </summary>
          <div className="bulk-bar">
            <BulkActions selection={isFiltered ? { filter } : { all: true }} what={others} />
          </div>
        </details>
      )}
      {isSelected ? (
        <button type="button" className="button" onClick={clear}>
          Clear the selection
        </button>
      ) : null}
    </section>
  );
}
