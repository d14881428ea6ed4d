import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { isConflict, isPreconditionFailed } from "../../../client/request/problem.ts";
import type { Edited, KeyedScheduleBody, ScheduleBody } from "../../../client/schedule.ts";
import type { JsonObject } from "../../data/document/json-text.ts";
import { leaveSavedNote } from "../../hooks/saved-note.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { forgetDraft } from "./draft/kept-draft.ts";

/** Saves the document, and goes on to the schedule's view, which says that it is saved. */
export function useSave(key: string | undefined, version: number | null, refetch: () => void) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useAction({
    // The server checks the document; the types only name the fields that it takes.
    mutationFn: (body: JsonObject): Promise<Edited> =>
      key === undefined
        ? carillon.schedules.create(body as object as KeyedScheduleBody)
        : carillon.schedules.put(key, body as object as ScheduleBody, { ifMatch: version ?? "*" }),
    onSuccess: async (edited) => {
      forgetDraft(key ?? null);
      const text = key === undefined ? `${edited.key} is created.` : `Version ${edited.version} is saved.`;
      leaveSavedNote({ key: edited.key, text });
      await navigate({ to: "/schedules/$key", params: { key: edited.key }, ignoreBlocker: true });
      await queryClient.invalidateQueries();
    },
    onError: (error) => {
      if (isPreconditionFailed(error) || isConflict(error)) refetch();
    },
  });
}
