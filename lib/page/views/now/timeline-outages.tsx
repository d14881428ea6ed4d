import { Link } from "@tanstack/react-router";
import type { Outage } from "../../../client/stats.ts";
import { numberText, spanText } from "../../data/amounts.ts";
import { outageWords } from "../../data/outage-queries.ts";

/** An outage on the screen, in milliseconds. One that lasts goes on to when it was seen. */
export interface DrawnOutage extends Pick<Outage, "id" | "what"> {
  from: number;
  to: number;
  lasts: boolean;
}

/** The outages that reach into the time from `begin` to when they were seen. */
export function drawnOutages(outages: readonly Outage[], begin: number, seenAt: number): DrawnOutage[] {
  return outages
    .map(({ id, what, from, to }) => ({
      id,
      what,
      from: Date.parse(from),
      to: to === null ? seenAt : Date.parse(to),
      lasts: to === null,
    }))
    .filter(({ from, to }) => to > begin && from < seenAt);
}

/** A hatched band behind the bars for each outage. `share` places an instant between 0 and 1. */
export function OutageBands({
  outages,
  share,
}: {
  outages: readonly DrawnOutage[];
  share(at: number): number;
}) {
  return outages.map(({ id, from, to }) => {
    const left = Math.max(0, share(from));
    const width = Math.min(1, share(to)) - left;
    return (
      <span
        key={id}
        className="outage-band"
        aria-hidden="true"
        style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
      />
    );
  });
}

/** The parts that were away, each once: `no tick ran, no worker claimed from the fast queue`. */
export function awayText(outages: readonly DrawnOutage[]): string {
  const words = outages.map(({ what }) => outageWords[what]);
  return [...new Set(words)].map((text) => text.charAt(0).toLowerCase() + text.slice(1)).join(", ");
}

/** Behind a sentence: all outages of the last hour, with the link to their list. */
export function OutagesNote({ outages }: { outages: readonly DrawnOutage[] }) {
  const [only] = outages;
  if (only === undefined) return null;
  const link = (
    <Link to="/outages" className="link">
      {outages.length === 1 ? "An outage" : `${numberText(outages.length)} outages`}
    </Link>
  );
  const span = `for ${spanText(only.to - only.from)}${only.lasts ? " so far" : ""}`;
  return (
    <>
      {" "}
      {link}: {awayText(outages)}
      {outages.length === 1 ? ` ${span}` : ""}.
    </>
  );
}

/** Behind the counts of one minute: the outages that it lies in. */
export function OutagesOfMinute({ outages }: { outages: readonly DrawnOutage[] }) {
  if (outages.length === 0) return null;
  return (
    <>
      {"; "}
      {awayText(outages)} (
      <Link to="/outages" className="link">
        outage
      </Link>
      )
    </>
  );
}
