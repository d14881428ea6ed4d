import { useQuery } from "@tanstack/react-query";
import { CarillonProblem, type Fault } from "../../../client/request/problem.ts";
import type { Schedule } from "../../../client/schedule.ts";
import type { JsonObject } from "../../data/document/json-text.ts";
import { hasOtherTimes } from "../../data/document/schedule-document.ts";
import { draftPreviewQuery, hasNoWhen, storedRunsQuery } from "../../data/edit-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useSettled } from "../../hooks/use-settled.ts";

/** Longer than the pause between two letters: a half-typed expression is not sent, to be refused. */
const typingMs = 400;

/** The server's readings of the edited document, once typing pauses, and the runs of the stored version. */
export function useReadings(stored: Schedule | undefined, value: JsonObject, from: string | undefined) {
  const { carillon } = useSession();
  const settled = useSettled(value, typingMs);
  const preview = useQuery(draftPreviewQuery(carillon, { body: settled, key: stored?.key, from }));
  const runs = useQuery({
    ...storedRunsQuery(carillon, { key: stored?.key ?? "", version: stored?.version, from }),
    enabled: stored !== undefined,
  });
  // A key that is refused says nothing against the times, which are read without it.
  const { key: _, ...keyless } = settled;
  const isKeyRefused = faultsIn(preview.error).some(({ path }) => path === "key");
  const other = useQuery({
    ...draftPreviewQuery(carillon, { body: keyless, key: undefined, from }),
    enabled: isKeyRefused && !hasNoWhen(keyless),
  });
  const read = isKeyRefused ? other.data : preview.data;
  return {
    preview: read?.preview,
    error: preview.error,
    runs,
    isStale: settled !== value || preview.isFetching || other.isFetching,
    /** Whether the reading is of a text that says other times than the edited one does by now. */
    isOfEarlierText: read !== undefined && hasOtherTimes(read.of, value),
  };
}

export const faultsIn = (error: Error | null): readonly Fault[] =>
  error instanceof CarillonProblem ? error.errors : none;

const none: readonly Fault[] = [];
