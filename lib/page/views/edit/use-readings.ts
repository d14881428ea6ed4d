import { useQuery } from "@tanstack/react-query";
import { CarillonProblem, type Fault } from "../../../client/request/problem.ts";
import type { Schedule } from "../../../client/schedule.ts";
import type { JsonObject } from "../../data/document/json-text.ts";
import { draftPreviewQuery, storedRunsQuery, targetCheckQuery } from "../../data/edit-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useSettled } from "../../hooks/use-settled.ts";

const typingMs = 250;

/** The server's readings of the edited document, once typing pauses, and the runs of the stored version. */
export function useReadings(stored: Schedule | undefined, value: JsonObject, from: string | undefined) {
  const { carillon } = useSession();
  const settled = useSettled(value, typingMs);
  const preview = useQuery(draftPreviewQuery(carillon, { body: settled, key: stored?.key, from }));
  const targetCheck = useQuery(targetCheckQuery(carillon, { body: settled, key: stored?.key }));
  const runs = useQuery({
    ...storedRunsQuery(carillon, { key: stored?.key ?? "", version: stored?.version, from }),
    enabled: stored !== undefined,
  });
  return {
    preview,
    runs,
    unset: faultsIn(targetCheck.error),
    isStale: settled !== value || preview.isFetching,
  };
}

export const faultsIn = (error: Error | null): readonly Fault[] =>
  error instanceof CarillonProblem ? error.errors : none;

const none: readonly Fault[] = [];
