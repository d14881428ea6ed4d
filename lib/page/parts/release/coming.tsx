import type { ReactNode } from "react";
import type { NextOccurrences } from "../../../client/time.ts";
import { Instant } from "../time/instant.tsx";

/** How many coming runs a dialog shows. */
export const runsShown = 5;

interface ComingProps {
  next: NextOccurrences;
  /** The text where no run comes. */
  none: string;
  children: ReactNode;
}

/** The next runs of one schedule, below a sentence on them. */
export function Coming({ next, none, children }: ComingProps) {
  if (next.details.length === 0) return <p>{none}</p>;
  return (
    <>
      <p>{children}</p>
      <ul>
        {next.details.map(({ at }) => (
          <li key={at}>
            <Instant at={at} as="exact" />, <Instant at={at} as="relative" />
          </li>
        ))}
      </ul>
    </>
  );
}
