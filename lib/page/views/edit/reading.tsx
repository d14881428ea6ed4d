import type { Fault } from "../../../client/request/problem.ts";
import type { NextOccurrences, Occurrence, Preview } from "../../../client/time.ts";
import { relativeText } from "../../data/amounts.ts";
import { serverWallText } from "../../data/time/server-wall.ts";
import { midnightOf } from "../../data/time/wall-input.ts";
import { useNow } from "../../hooks/use-now.ts";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { WallField } from "../../parts/time/wall-field.tsx";
import { dayOf, movesBetween } from "./consequence.ts";
import { Words } from "./words.tsx";
import "../../look/runs.css";

interface ReadingProps {
  /** The server's reading of the edited text; undefined until it can be read. */
  preview: Preview | undefined;
  /** The runs of the stored version; undefined for a new schedule. */
  stored: { version: number; next: NextOccurrences | undefined; warnings: readonly string[] } | undefined;
  /** Whether the edit moves runs. If not, those of the stored version stay. */
  moves: boolean;
  /** Whether the text has faults; they are shown at their fields. */
  isRefused: boolean;
  /** Faults for which a save would be refused although the times can be read. */
  unset: readonly Fault[];
  isStale: boolean;
  from: string | undefined;
  onFrom(from: string | undefined): void;
}

/** The server's reading of the edited text: words, warnings, and the coming runs before and after. */
export function Reading({ preview, stored, moves, isRefused, unset, isStale, from, onFrom }: ReadingProps) {
  const timezone = preview?.timezone ?? stored?.next?.timezone ?? "UTC";
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
          <Words preview={preview} />
        )}
        {preview === undefined || stored === undefined || !moves
          ? null
          : stored.warnings
              .filter((warning) => !preview.warnings.includes(warning))
              .map((warning) => (
                <Ended key={warning} warning={warning} timezone={timezone} onFrom={onFrom} />
              ))}
        {unset.map(({ path, message }) => (
          <p key={path} className="notice bad">
            Before it can be saved: <code>{path}</code> <Sentence text={message} />.
          </p>
        ))}
        <From timezone={timezone} from={from} onFrom={onFrom} />
        {stored === undefined ? (
          <div className="run-list one">
            {preview === undefined ? null : (
              <Runs
                title="Coming runs"
                timezone={preview.timezone}
                runs={preview.details}
                marked={none}
                mark={isNew}
              />
            )}
          </div>
        ) : (
          <BeforeAfter stored={stored} edited={moves ? preview : stored.next} moves={moves} />
        )}
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
    <p className="notice warning">
      <b aria-hidden="true">△</b> Until this edit: {warning}{" "}
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
  edited: Pick<Preview, "details" | "timezone"> | undefined;
  moves: boolean;
}

function BeforeAfter({ stored, edited, moves }: BeforeAfterProps) {
  const before = stored.next?.details ?? [];
  const after = edited?.details ?? before;
  const { gone, added, text } = movesBetween(before, after);
  return (
    <>
      {edited === undefined || stored.next === undefined ? null : <p>{text}</p>}
      <div className="run-list aligned">
        <Runs
          title={`Version ${stored.version}, as stored`}
          timezone={stored.next?.timezone}
          runs={before}
          marked={gone}
          mark={{ sign: "−", word: "goes", look: "gone" }}
        />
        {edited === undefined ? null : (
          <Runs
            title={moves ? "As edited" : "As edited: no run moves"}
            timezone={edited.timezone}
            runs={edited.details}
            marked={added}
            mark={isNew}
          />
        )}
      </div>
    </>
  );
}

const none: ReadonlySet<string> = new Set();

const isNew = { sign: "+", word: "is new", look: "new" } as const;

interface RunsProps {
  title: string;
  /** The zone of the listed times, which need not be the one that the reader chose for the page. */
  timezone: string | undefined;
  runs: readonly Occurrence[];
  /** The runs that only one of the two lists has, and their look. */
  marked: ReadonlySet<string>;
  mark: { sign: string; word: string; look: "new" | "gone" };
}

function Runs({ title, timezone, runs, marked, mark }: RunsProps) {
  const now = useNow();
  return (
    <section aria-label={title} style={{ gridRow: `span ${1 + Math.max(1, runs.length)}` }}>
      <h3>
        {title}
        {timezone === undefined ? null : <span className="quiet"> · times in {timezone}</span>}
      </h3>
      {runs.length === 0 ? <p className="quiet">No run comes.</p> : null}
      <ol>
        {runs.map(({ at, wall, note, due }) => (
          <li key={at} className={marked.has(at) ? mark.look : undefined}>
            <span className="sign">
              {marked.has(at) ? (
                <>
                  <b aria-hidden="true">{mark.sign}</b>
                  <span className="hidden">{mark.word}: </span>
                </>
              ) : null}
            </span>
            <time className="mono" dateTime={at} title={`${at}\n${relativeText(Date.parse(at), now)}`}>
              {serverWallText(wall)}
            </time>
            <span className="quiet away">{relativeText(Date.parse(at), now)}</span>
            {due === undefined && note === null ? null : (
              <p className={note === null ? "quiet" : "note"}>
                {[note === null ? null : `△ ${note}`, due === undefined ? null : `due ${due}`]
                  .filter((part) => part !== null)
                  .join("; ")}
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
