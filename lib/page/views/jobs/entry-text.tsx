import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { numberText } from "../../data/amounts.ts";
import { changingEntriesQuery } from "../../data/job/entry-states.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Actor } from "../../parts/actor.tsx";
import { Instant } from "../../parts/time/instant.tsx";

const secondMs = 1_000;

/** `retried by ops at 23:38`, with a link to that entry of the audit. */
export function EntryText({ entries }: { entries: readonly string[] }) {
  const { carillon } = useSession();
  const enabled = useMay("getAudit");
  const { data } = useQuery({ ...changingEntriesQuery(carillon, entries), enabled });
  const [entry] = data ?? [];
  if (entry === undefined) return <>retried or cancelled by entry {entries.join(", ")} of the audit</>;
  const at = Date.parse(entry.at);
  const others = entries.length - 1;
  return (
    <>
      <Link
        to="/audit"
        search={{
          action: entry.action,
          from: new Date(at).toISOString(),
          // The end of a window is not in it.
          to: new Date(at + secondMs).toISOString(),
        }}
        className="link"
      >
        {entry.action === "jobs.retried" ? "retried" : "cancelled"} by <Actor name={entry.actor} /> at{" "}
        <Instant at={entry.at} />
      </Link>
      {others === 0 ? null : ` and by ${numberText(others)} more ${others === 1 ? "call" : "calls"}`}
    </>
  );
}
