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
  const { look, sign, word } = lookOf({ before, after });
  return (
    <li className={look}>
      <b className="sign" aria-hidden="true">
        {sign}
      </b>
      <span className="times">
        <Instant at={first} />
        {after === null || after === first ? null : (
          <span className="to">
            {" "}
            <span aria-hidden="true">→</span>
            <span className="hidden">moves to</span> <Instant at={after} />
          </span>
        )}
      </span>
      <span className="word">{word}</span>
    </li>
  );
}
