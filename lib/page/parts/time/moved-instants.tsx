import type { ReactNode } from "react";
import { lookOf, type MovedRuns, movedRuns, type RunChange } from "../../data/moved-runs.ts";
import { Instant } from "./instant.tsx";
import "../../look/runs.css";

/** The server shows this many coming runs of each version. */
const runsShown = 5;

export const movesOf = (before: readonly string[], after: readonly string[]): MovedRuns =>
  movedRuns(before, after, runsShown);

interface MovedInstantsProps {
  /** Names the list for a screen reader. */
  label: string;
  changes: readonly RunChange[];
}

/** Coming runs before and after a change in one list: one that moves has both instants in its row. */
export function MovedInstants({ label, changes }: MovedInstantsProps) {
  return (
    <section className="run-list" aria-label={label}>
      {changes.length === 0 ? <p className="quiet">No run comes.</p> : null}
      <ol>
        {changes.map((change) => (
          <Row key={change.before ?? change.after} {...change} />
        ))}
      </ol>
    </section>
  );
}

function Row({ before, after }: RunChange) {
  const first = before ?? after;
  if (first === null) return null;
  const moved = after === null || after === first ? null : <Instant at={after} />;
  return <MovedRow change={{ before, after }} first={<Instant at={first} />} moved={moved} />;
}

interface MovedRowProps {
  change: RunChange;
  /** The time before the change, or that of a new run. */
  first: ReactNode;
  /** The time after it; null for a run that does not move. */
  moved: ReactNode;
  /** A note below the times. */
  children?: ReactNode;
}

/** A run in a list: its sign, its time before and after, and the word for a run that goes or comes. */
export function MovedRow({ change, first, moved, children }: MovedRowProps) {
  const { look, sign, word } = lookOf(change);
  return (
    <li className={look}>
      <b className="sign" aria-hidden="true">
        {sign}
      </b>
      <span className="times">
        {first}
        {moved === null ? null : (
          <span className="to">
            {" "}
            <span aria-hidden="true">→</span>
            <span className="hidden">moves to</span> {moved}
          </span>
        )}
      </span>
      <span className="word">{word}</span>
      {children}
    </li>
  );
}
