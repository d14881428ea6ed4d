import { useEffect, useMemo, useState } from "react";
import type { Fault } from "../../../client/request/problem.ts";
import type { Schedule } from "../../../client/schedule.ts";
import { type JsonObject, type ReadText, rangeOf } from "../../data/document/json-text.ts";
import { documentOf, movesTimes } from "../../data/document/schedule-document.ts";
import { hasNoWhen } from "../../data/edit-queries.ts";
import { isZone } from "../../data/time/zone.ts";
import { FaultItems } from "../../parts/fault-items.tsx";
import { JsonEditor } from "../../parts/json-editor.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Conflict } from "./conflict.tsx";
import { consequenceOf } from "./consequence.ts";
import { copiedSave } from "./copied-save.ts";
import { forgetDraft } from "./draft/kept-draft.ts";
import { distinct } from "./faults.ts";
import { FurtherForm, NeededForm } from "./form.tsx";
import { LeaveGuard } from "./leave-guard.tsx";
import { focusField, missingOf, type Obstacle, obstacleOf } from "./obstacle.ts";
import { Reading } from "./reading.tsx";
import { Restored } from "./restored.tsx";
import { SaveLine } from "./save-line.tsx";
import { faultsIn, useReadings } from "./use-readings.ts";
import { useSave } from "./use-save.ts";
import { useTakeUnedited } from "./use-take-unedited.ts";
import { readOrEmpty, useText } from "./use-text.ts";
import { Words } from "./words.tsx";
import "../../look/schedule.css";
import "../../look/schedule-parts.css";
import "../../look/edit.css";

interface EditorProps {
  /** The stored schedule, refreshed while it is edited; undefined for a new one. */
  stored: Schedule | undefined;
  /** The text that a new schedule begins with. */
  begin: string;
  refetch(): void;
}

/** A schedule's JSON with the form beside it, and the server's reading of both. */
export function Editor({ stored, begin, refetch }: EditorProps) {
  const edited = useText({ key: stored?.key ?? null, version: stored?.version ?? null, text: begin });
  const { text, read, value, version, began, isDirty, isPayloadJson } = edited;
  const [from, setFrom] = useState<string | undefined>(undefined);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const { preview, error: unread, runs, isStale, isOfEarlierText } = useReadings(stored, value, from);
  const save = useSave(stored?.key, version, refetch);
  useEffect(() => {
    // The field may be far below the button.
    if (save.error !== null) focusField(null);
  }, [save.error]);
  const shown = hasNoWhen(value) ? undefined : preview;
  const moves = movesTimes(began, value);
  const error = save.error ?? unread;
  const faults = faultsIn(error);
  const marks = useMemo(() => marksOf(text, read, faults), [text, read, faults]);
  const touch = (field: string) =>
    setTouched((before) => (before.has(field) ? before : new Set([...before, field])));
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
  const takenText = useTakeUnedited({ theirs, isDirty, take: (other) => goOn(other, "take") });
  const draft = {
    text,
    value,
    faults: distinct([...faults, ...missedIn(value, touched)]),
    change: read.ok ? change : unchanged,
    payload: edited.payload,
    typePayload: edited.typePayload,
    touched,
    touch,
  };
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
          onDiscard={() => (stored === undefined ? edited.startOver() : goOn(stored, "take"))}
        />
      ) : null}
      <SaveLine
        isNew={stored === undefined}
        isDirty={isDirty}
        isSaving={save.isPending}
        conflict={
          theirs === null || !isDirty ? null : (
            <Conflict
              base={{ version: version ?? 0, value: began }}
              theirs={theirs}
              theirValue={readOrEmpty(documentOf(theirs))}
              onKeep={() => goOn(theirs, "keep")}
              onTake={() => goOn(theirs, "take")}
            />
          )
        }
        takenText={takenText}
        consequence={isDirty && !isStale ? consequenceOf(runs.data, moves ? shown : runs.data) : null}
        obstacle={obstacleOf({ read, isPayloadJson, value, isFaulty: faultsIn(unread).length > 0 })}
        error={save.error}
        onSave={() => save.act(value)}
        onBlocked={({ field }: Obstacle) => {
          if (field !== null) touch(field);
          focusField(field);
        }}
        commands={copiedSave(text, stored?.key, version)}
      />
      <div className="editor">
        <NeededForm
          draft={draft}
          isReadable={read.ok}
          isNew={stored === undefined}
          brief={shown && <Words preview={shown} isOfEarlierText={isOfEarlierText} />}
        />
        <Reading
          preview={shown}
          typedZone={zoneIn(value)}
          stored={
            stored === undefined
              ? undefined
              : { version: stored.version, next: runs.data, warnings: stored.warnings }
          }
          moves={moves}
          isRefused={error !== null}
          isStale={isStale}
          isOfEarlierText={isOfEarlierText}
          from={from}
          onFrom={setFrom}
        />
        <FurtherForm draft={draft} isReadable={read.ok} />
        <Panel title="JSON" note="all fields; Tab leaves the editor">
          <JsonEditor
            name="json"
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

function zoneIn({ timezone }: JsonObject): string | undefined {
  return typeof timezone === "string" && isZone(timezone) ? timezone : undefined;
}

/** While the text is no JSON the form changes nothing. */
const unchanged = () => {};

/** A missing field is shown as a fault once the reader has been there, or has been sent there. */
function missedIn(value: JsonObject, touched: ReadonlySet<string>): Fault[] {
  const missing = missingOf(value);
  if (missing === null || missing.field === null || missing.field.startsWith("when")) return [];
  return touched.has(missing.field) ? [{ path: missing.field, message: missing.text }] : [];
}

function marksOf(text: string, read: ReadText, faults: readonly Fault[]) {
  if (!read.ok) return [{ ...read.range, message: read.message }];
  return faults.map(({ path, message }) => ({ ...rangeOf(text, path), message: `${path} ${message}` }));
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
    <div role="status">
      <ul className="faults">
        <FaultItems error={error} />
      </ul>
    </div>
  );
}
