import type { ReactNode } from "react";
import type { BulkPreview } from "../../../client/schedule.ts";
import { amountText, isOrAre } from "../../data/amounts.ts";

/** How many schedules the server counted, and the first of them. */
export function BulkSamples({
  preview: { count, more, samples, movedTo = [] },
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
      {movedTo.map(({ to, schedules, more: isMore }) => (
        <p key={to}>
          {amountText({ count: schedules, more: isMore }, "schedule")} of this prefix{" "}
          {isOrAre({ count: schedules, more: isMore })} at {to} (<code>carillon move</code>) and cannot be
          changed here.
        </p>
      ))}
    </>
  );
}
