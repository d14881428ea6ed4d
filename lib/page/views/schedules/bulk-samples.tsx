import type { ReactNode } from "react";
import type { BulkPreview } from "../../../client/schedule.ts";
import { amountText } from "../../data/amounts.ts";

/** How many schedules the server counted, and the first of them. */
export function BulkSamples({
  preview: { count, more, samples },
  children,
}: {
  preview: BulkPreview;
  children: ReactNode;
}) {
  return (
    <>
      <p>
        <b>{amountText({ count, more }, "schedule")}</b>: {children}
      </p>
      <ul>
        {samples.map(({ key }) => (
          <li key={key} className="mono">
            {key}
          </li>
        ))}
        {count > samples.length || more ? (
          <li>and {amountText({ count: count - samples.length, more }, "other")}</li>
        ) : null}
      </ul>
    </>
  );
}
