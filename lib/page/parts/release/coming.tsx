import type { ReactNode } from "react";
import type { NextOccurrences } from "../../../client/time.ts";
import { useNow } from "../../hooks/use-now.ts";
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
  const now = useNow();
  // A dialog may stay open for longer than the first of them are to come.
  const coming = next.details.filter(({ at }) => Date.parse(at) > now);
  if (next.details.length === 0) return <p>{none}</p>;
  if (coming.length === 0) return <p>The runs that were next when the dialog was opened are due by now.</p>;
  return (
    <>
      <p>{children}</p>
      <ul>
        {coming.map(({ at }) => (
          <li key={at}>
            <Instant at={at} as="exact" />, <Instant at={at} as="relative" />
          </li>
        ))}
      </ul>
    </>
  );
}
