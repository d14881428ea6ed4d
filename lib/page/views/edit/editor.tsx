import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import {
  CarillonProblem,
  type Fault,
  isConflict,
  isPreconditionFailed,
} from "../../../client/request/problem.ts";
import type { Edited, KeyedScheduleBody, Schedule, ScheduleBody } from "../../../client/schedule.ts";
import { type JsonObject, type ReadText, rangeOf } from "../../data/document/json-text.ts";
import { documentOf, movesTimes } from "../../data/document/schedule-document.ts";
import { draftPreviewQuery, storedRunsQuery, targetCheckQuery } from "../../data/edit-queries.ts";
import { apiUrl } from "../../data/query-client.ts";
import { curlText, quoted } from "../../data/shell-text.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useSettled } from "../../hooks/use-settled.ts";
import { FaultItems } from "../../parts/fault-items.tsx";
import { JsonEditor } from "../../parts/json-editor.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Conflict } from "./conflict.tsx";
import { JobsForm, TimesForm } from "./form.tsx";
import { forgetDraft } from "./kept-draft.ts";
import { LeaveGuard } from "./leave-guard.tsx";
import { Reading } from "./reading.tsx";
import { Restored } from "./restored.tsx";
import { SaveLine } from "./save-line.tsx";
import { readOrEmpty, useText } from "./use-text.ts";
import "../../look/schedule.css";
import "../../look/schedule-parts.css";
import "../../look/edit.css";
import { useAction } from "../../hooks/use-action.ts";

const typingMs = 250;

interface EditorProps {
  /** The stored schedule, refreshed while it is edited; undefined for a new one. */
  stored: Schedule | undefined;
  /** The text that a new schedule begins with. */
  begin: string;
  refetch(): void;
}

/** A schedule's JSON with the form beside it, and the server's reading of both. */
export function Editor({ stored, begin, refetch }: EditorProps) {
  const { carillon } = useSession();
  const edited = useText({ key: stored?.key ?? null, version: stored?.version ?? null, text: begin });
  const { text, read, value, version, began, isDirty } = edited;
  const [from, setFrom] = useState<string | undefined>(undefined);
  const settled = useSettled(value, typingMs);
  const preview = useQuery(draftPreviewQuery(carillon, { body: settled, key: stored?.key, from }));
  const targetCheck = useQuery(targetCheckQuery(carillon, { body: settled, key: stored?.key }));
  const runs = useQuery({
    ...storedRunsQuery(carillon, { key: stored?.key ?? "", version: stored?.version, from }),
    enabled: stored !== undefined,
  });
  const save = useSave(stored?.key, version, refetch);
  useEffect(() => {
    // The field may be far below the button.
    if (save.error !== null) document.querySelector<HTMLElement>('.form [aria-invalid="true"]')?.focus();
  }, [save.error]);
  const error = save.error ?? preview.error;
  const faults = useMemo(() => (error instanceof CarillonProblem ? error.errors : []), [error]);
  const unset = targetCheck.error instanceof CarillonProblem ? targetCheck.error.errors : [];
  const isFaulty =
    unset.length > 0 || (preview.error instanceof CarillonProblem && preview.error.errors.length > 0);
  const marks = useMemo(() => marksOf(text, read, faults), [text, read, faults]);
  const change = (changed: string) => {
    if (changed === text) return;
    edited.setText(changed);
    save.reset();
  };
  const theirs = stored !== undefined && stored.version !== version ? stored : null;
  const goOn = (other: Schedule, kept: "keep" | "take") => {
    edited.rebase(other, kept);
    save.reset();
  };
  const draft = { text, value, faults: [...faults, ...unset], change: read.ok ? change : unchanged };
  return (
    <>
      <LeaveGuard
        isDirty={isDirty && !save.isSuccess}
        isSaving={save.isPending}
        onLose={() => forgetDraft(stored?.key ?? null)}
      />
      {edited.isRestored && isDirty ? (
        <Restored
          version={version}
          onDiscard={() => (stored === undefined ? change(begin) : goOn(stored, "take"))}
        />
      ) : null}
      {theirs === null ? null : (
        <Conflict
          base={{ version: version ?? 0, value: began }}
          theirs={theirs}
          theirValue={readOrEmpty(documentOf(theirs))}
          onKeep={() => goOn(theirs, "keep")}
          onTake={() => goOn(theirs, "take")}
        />
      )}
      <SaveLine
        isNew={stored === undefined}
        canSave={isDirty && read.ok && theirs === null && !save.isPending && !isFaulty && !hasNoWhen(value)}
        isDirty={isDirty}
        isFaulty={isFaulty}
        isSaving={save.isPending}
        error={save.error}
        onSave={() => save.act(value)}
        commands={commandsOf(text, stored?.key, version)}
      />
      <div className="editor">
        <TimesForm draft={draft} isReadable={read.ok} isNew={stored === undefined} />
        <Reading
          preview={hasNoWhen(value) ? undefined : preview.data}
          stored={stored === undefined ? undefined : { version: stored.version, next: runs.data }}
          moves={movesTimes(began, value)}
          isRefused={error !== null}
          unset={unset}
          isStale={settled !== value || preview.isFetching}
          from={from}
          onFrom={setFrom}
        />
        <JobsForm draft={draft} isReadable={read.ok} />
        <Panel title="JSON" note="all fields; Tab leaves the editor">
          <JsonEditor
            label="The schedule, JSON. Tab leaves the editor."
            text={text}
            marks={marks}
            onChange={change}
          />
          <Problems error={error} unread={read.ok ? null : read.message} />
        </Panel>
      </div>
    </>
  );
}

/** While the text is no JSON the form changes nothing. */
const unchanged = () => {};

const hasNoWhen = ({ when }: JsonObject) => when === undefined || when === "";

function marksOf(text: string, read: ReadText, faults: readonly Fault[]) {
  if (!read.ok) return [{ ...read.range, message: read.message }];
  return faults.map(({ path, message }) => ({ ...rangeOf(text, path), message: `${path} ${message}` }));
}

function useSave(key: string | undefined, version: number | null, refetch: () => void) {
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
      await navigate({ to: "/schedules/$key", params: { key: edited.key }, ignoreBlocker: true });
      await queryClient.invalidateQueries();
    },
    onError: (error) => {
      if (isPreconditionFailed(error) || isConflict(error)) refetch();
    },
  });
}

/** All faults with their paths, also of fields that the form does not draw. */
function Problems({ error, unread }: { error: Error | null; unread: string | null }) {
  if (unread !== null)
    return (
      <p className="faults" role="status">
        {unread} The form shows the last text that was.
      </p>
    );
  if (error === null) return null;
  return (
    <ul className="faults" role="status">
      <FaultItems error={error} />
    </ul>
  );
}

function commandsOf(text: string, key: string | undefined, version: number | null) {
  // The API makes a key up, the CLI wants one.
  const hasKey = readOrEmpty(text)["key"] !== undefined;
  const put =
    key === undefined
      ? `carillon put ${hasKey ? "" : "KEY "}--create -f -`
      : `carillon put ${quoted(key)} --if-match ${version} -f -`;
  return {
    carillon: `${put} <<'JSON'\n${text}\nJSON`,
    curl:
      key === undefined
        ? curlText({ method: "POST", url: `${apiUrl()}/v1/schedules`, body: text })
        : curlText({
            method: "PUT",
            url: `${apiUrl()}/v1/schedules/${encodeURIComponent(key)}`,
            headers: { "if-match": `"${version}"` },
            body: text,
          }),
  };
}
