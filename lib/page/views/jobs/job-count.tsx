import { useQuery } from "@tanstack/react-query";
import type { JobFilter } from "../../../client/job.ts";
import { type Amount, amountText } from "../../data/amounts.ts";
import { jobCountQuery } from "../../data/job-queries.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";

/** A count checks more jobs than a page of the list. */
const refreshMs = 30_000;

/** How many jobs the list has, by the server's count, and their order. */
export function JobCount({ filter, order }: { filter: JobFilter; order: string | null }) {
  const { carillon } = useSession();
  const { data } = useQuery({
    ...jobCountQuery(carillon, filter),
    refetchInterval: useRefreshMs(refreshMs),
  });
  const parts = [data === undefined ? null : countText(data), order];
  return <p className="quiet">{parts.filter((part) => part !== null).join(", ")}</p>;
}

/** A count that has met its bound before the first match does not say that there is none. */
const countText = (counted: Amount) =>
  counted.count === 0 && counted.more ? "none among the newest jobs" : amountText(counted, "job");
