import type { Outcome } from "../../client/time.ts";
import { isMissed, lookOf, type Shape } from "../data/outcomes.ts";

/** The shapes in a field of 8 by 20. */
function shapeOf(shape: Shape) {
  switch (shape) {
    case "bar":
      return <rect x={0.5} y={4} width={7} height={12} rx={2} />;
    case "tall":
      return <rect x={0.5} y={0.5} width={7} height={19} rx={1} />;
    case "ring":
      return <rect className="hollow" x={1.25} y={4.75} width={5.5} height={10.5} rx={2} />;
    case "half":
      return <path d="M.5 16V6a2 2 0 0 1 2-2h5Z" />;
    case "dot":
      return <circle cx={4} cy={10} r={2.5} />;
    case "hollow":
      return <circle className="hollow" cx={4} cy={10} r={2.75} />;
    case "pause":
      return <path d="M1.5 6h2v8h-2zM5 6h2v8H5z" />;
    case "cross":
      return <path className="hollow" d="m1.5 7 5 6m0-6-5 6" />;
  }
}

/** The mark of one outcome, inside of an SVG. */
export function OutcomeShape({ outcome, x }: { outcome: Outcome; x: number }) {
  const { shape, tone } = lookOf(outcome);
  return (
    <g className={`outcome ${tone}`} transform={`translate(${x} 1)`}>
      {shapeOf(shape)}
    </g>
  );
}

interface OutcomeWordProps {
  outcome: Outcome;
  /** Why it was skipped: a missed occurrence is called so. */
  reason?: string | null;
}

/** The mark with its word. */
export function OutcomeWord({ outcome, reason }: OutcomeWordProps) {
  return (
    <span className="outcome-word">
      <svg width={8} height={22} viewBox="0 0 8 22" aria-hidden="true">
        <OutcomeShape outcome={outcome} x={0} />
      </svg>
      {isMissed(outcome, reason) ? "missed" : lookOf(outcome).word}
    </span>
  );
}
