import type { NextOccurrences, Preview } from "../../../client/time.ts";
import { midnightOf } from "../../data/time/wall-input.ts";
import { Panel } from "../../parts/panel.tsx";
import { WallField } from "../../parts/time/wall-field.tsx";
import { dayOf, movesBetween } from "./consequence.ts";
import { type ComingRuns, RunChanges, Runs } from "./run-lists.tsx";
import { Words } from "./words.tsx";

interface ReadingProps {
  /** The server's reading of the edited text; undefined until it can be read. */
  preview: Preview | undefined;
  /** The runs of the stored version; undefined for a new schedule. */
  stored: { version: number; next: NextOccurrences | undefined; warnings: readonly string[] } | undefined;
  /** The zone of the edited text, if it is one. */
  typedZone: string | undefined;
  /** Whether the edit moves runs. If not, those of the stored version stay. */
  moves: boolean;
  /** Whether the text has faults; they are shown at their fields. */
  isRefused: boolean;
  isStale: boolean;
  /** Whether the reading is of a text that is another one by now. */
  isOfEarlierText: boolean;
  from: string | undefined;
  onFrom(from: string | undefined): void;
}

/** The server's reading of the edited text: words, warnings, and the coming runs before and after. */
export function Reading(props: ReadingProps) {
  const { preview, typedZone, stored, moves, isRefused, isStale, isOfEarlierText, from, onFrom } = props;
  // While the text has a fault there is no preview: the field of the list keeps its clocks.
  const timezone = preview?.timezone ?? typedZone ?? stored?.next?.timezone ?? "UTC";
  return (
    <Panel title="When it will run" note={preview === undefined ? undefined : timezone}>
      <div className="reading" aria-live="polite" aria-busy={isStale}>
        {preview === undefined ? (
          <p className="quiet">
            {isRefused
              ? "The server does not understand it yet: the faults are at their fields."
              : "Write when it runs: the words and the coming runs appear here."}
          </p>
        ) : (
          <Words preview={preview} isOfEarlierText={isOfEarlierText} />
        )}
        {preview === undefined || stored === undefined || !moves
          ? null
          : stored.warnings
              .filter((warning) => !preview.warnings.includes(warning))
              .map((warning) => (
                <Ended key={warning} warning={warning} timezone={timezone} onFrom={onFrom} />
              ))}
        <From timezone={timezone} from={from} onFrom={onFrom} />
        <div className={isOfEarlierText ? "runs earlier" : "runs"}>
          {stored === undefined ? (
            preview && <Runs title="Coming runs" timezone={preview.timezone} runs={preview.details} />
          ) : (
            <BeforeAfter stored={stored} edited={moves ? preview : stored.next} />
          )}
        </div>
      </div>
    </Panel>
  );
}

interface EndedProps extends Pick<ReadingProps, "onFrom"> {
  warning: string;
  timezone: string;
}

/**
 * A warning about the stored version that the edit ends. On its day a run moves by another time than on
 * others, and the day may be months behind the listed runs.
 */
function Ended({ warning, timezone, onFrom }: EndedProps) {
  const day = dayOf(warning);
  return (
    <p className="quiet">
      No longer with this edit: {warning}{" "}
      {day === undefined ? null : (
        <button
          type="button"
          className="text-button"
          onClick={() => onFrom(new Date(midnightOf(day, timezone)).toISOString())}
        >
          Show how that day changes
        </button>
      )}
    </p>
  );
}

/** From when on the runs are listed: a clock change may be months ahead. */
function From({ timezone, from, onFrom }: Pick<ReadingProps, "from" | "onFrom"> & { timezone: string }) {
  return (
    <div className="from">
      <WallField
        label="Show runs from"
        at={from === undefined ? undefined : Date.parse(from)}
        zone={timezone}
        onChange={(at) => onFrom(at === undefined ? undefined : new Date(at).toISOString())}
      />
      <span className="faint">{from === undefined ? "empty: now" : timezone}</span>
    </div>
  );
}

interface BeforeAfterProps {
  stored: NonNullable<ReadingProps["stored"]>;
  /** Undefined while the edited text cannot be read. */
  edited: ComingRuns | undefined;
}

/** One list while no run moves: the line of the save says so. */
function BeforeAfter({ stored: { version, next }, edited }: BeforeAfterProps) {
  if (next === undefined) return null;
  if (edited === undefined)
    return <Runs title={`Version ${version}, as stored`} timezone={next.timezone} runs={next.details} />;
  const { changes, isAnyMoved, text } = movesBetween(next.details, edited.details);
  if (!isAnyMoved) return <Runs title="Coming runs" timezone={edited.timezone} runs={edited.details} />;
  return (
    <>
      <p>{text}</p>
      <RunChanges title={`Version ${version} and the edit`} stored={next} edited={edited} changes={changes} />
    </>
  );
}
