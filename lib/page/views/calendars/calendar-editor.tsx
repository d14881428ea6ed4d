import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Calendar, PutCalendar } from "../../../client/calendars.ts";
import { CarillonProblem, type Fault, isPreconditionFailed } from "../../../client/request/problem.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { calendarPreviewQuery } from "../../data/calendar-queries.ts";
import { apiUrl } from "../../data/query-client.ts";
import { curlText, quoted } from "../../data/text/shell-text.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { useSettled } from "../../hooks/use-settled.ts";
import { Actor } from "../../parts/actor.tsx";
import { CopyAs } from "../../parts/copy-as.tsx";
import { FaultItems } from "../../parts/fault-items.tsx";
import { Panel } from "../../parts/panel.tsx";
import { LeaveGuard } from "../edit/leave-guard.tsx";
import { useTakeUnedited } from "../edit/use-take-unedited.ts";
import { bodyOf, emptyRules, type Rules, rulesOf } from "./calendar-rules.ts";
import { Impact } from "./impact.tsx";
import { Months } from "./months.tsx";
import { isAtField, RuleFields } from "./rule-fields.tsx";

const typingMs = 250;

interface CalendarEditorProps {
  name: string;
  /** Undefined where there is no calendar of this name yet. */
  stored: Calendar | undefined;
  refetch(): void;
}

/** The days of a calendar, and whose runs a change of them moves, before it is saved. */
export function CalendarEditor({ name, stored, refetch }: CalendarEditorProps) {
  const { carillon } = useSession();
  const mayEdit = useMay("putCalendar");
  const [base, setBase] = useState(stored);
  const began = base === undefined ? emptyRules : rulesOf(base);
  const [rules, setRules] = useState<Rules>(began);
  const isDirty = JSON.stringify(rules) !== JSON.stringify(began) || base === undefined;
  const settled = useSettled(rules, typingMs);
  const preview = useQuery({
    ...calendarPreviewQuery(carillon, name, bodyOf(settled)),
    enabled: isDirty && mayEdit,
  });
  const save = useSaveCalendar(name, base, refetch, (saved) => {
    setBase(saved);
    setRules(rulesOf(saved));
  });
  const error = save.error ?? preview.error;
  const theirs = newerThan(base, stored);
  const { faults, areAtFields } = faultsIn(error);
  const take = (other: Calendar) => {
    setBase(other);
    setRules(rulesOf(other));
  };
  const takenText = useTakeUnedited({ theirs, isDirty, take });
  const change = (changed: Rules) => {
    setRules(changed);
    save.reset();
  };
  return (
    <>
      <LeaveGuard isDirty={isDirty && base !== undefined} isSaving={save.isPending} onLose={() => {}} />
      {mayEdit ? (
        <SaveCalendar
          verb={base === undefined ? "Create" : "Save"}
          canSave={isDirty && theirs === null && preview.isSuccess && !save.isPending}
          conflict={
            theirs === null || base === undefined || !isDirty ? null : (
              <OtherVersion
                mine={base.version}
                theirs={theirs}
                onKeep={() => setBase(theirs)}
                onTake={() => take(theirs)}
              />
            )
          }
          status={statusOf({
            saved: save.data,
            isDirty,
            isConflicting: theirs !== null,
            isRefused: error !== null,
            takenText,
          })}
          onSave={() => save.act(rules)}
          commands={commandsOf(name, rules, base?.version)}
        />
      ) : null}
      {error === null || areAtFields ? null : <RuleFaults error={error} />}
      <Months rules={rules} onChange={mayEdit ? change : null} />
      <div className="two">
        <Panel title="Rules">
          <RuleFields rules={rules} faults={faults} isLocked={!mayEdit} onChange={change} />
        </Panel>
        <Impact
          preview={isDirty ? preview.data : undefined}
          isStale={settled !== rules || preview.isFetching}
        />
      </div>
    </>
  );
}

/** The stored calendar if it is another version than the edit began with. */
function newerThan(base: Calendar | undefined, stored: Calendar | undefined): Calendar | null {
  return stored !== undefined && base !== undefined && stored.version !== base.version ? stored : null;
}

function faultsIn(error: Error | null): { faults: readonly Fault[]; areAtFields: boolean } {
  const faults = error instanceof CarillonProblem ? error.errors : [];
  return { faults, areAtFields: faults.length > 0 && faults.every(isAtField) };
}

interface OtherVersionProps {
  mine: number;
  theirs: Calendar;
  onKeep(): void;
  onTake(): void;
}

/** Another version was saved meanwhile: nothing is overwritten before the editor has seen it. */
function OtherVersion({ mine, theirs, onKeep, onTake }: OtherVersionProps) {
  return (
    <div className="notice bad conflict" role="alert">
      <p>
        <Actor name={theirs.updatedBy} /> saved version {theirs.version} while you edited version {mine}. Your
        rules are kept and not saved.
      </p>
      <button type="button" className="button" onClick={onKeep}>
        Reload version {theirs.version}, keep my rules
      </button>
      <button type="button" className="button" onClick={onTake}>
        Drop mine, take version {theirs.version}
      </button>
    </div>
  );
}

interface SaveCalendarProps {
  verb: string;
  canSave: boolean;
  /** The question which version to go on with, where another one was saved meanwhile. */
  conflict: ReactNode;
  status: string;
  onSave(): void;
  commands: { carillon: string; curl: string };
}

function SaveCalendar({ verb, canSave, conflict, status, onSave, commands }: SaveCalendarProps) {
  return (
    <div className="save-line">
      {conflict}
      <button type="button" className="button primary" disabled={!canSave} onClick={onSave}>
        {verb}
      </button>
      <span className="quiet" role="status">
        {status}
      </span>
      <CopyAs {...commands} />
    </div>
  );
}

function commandsOf(name: string, rules: Rules, version: number | undefined) {
  const text = JSON.stringify(bodyOf(rules));
  const match = version === undefined ? "" : ` --if-match ${version}`;
  return {
    carillon: `carillon calendar put ${quoted(name)}${match} -f - <<'JSON'\n${text}\nJSON`,
    curl: curlText({
      method: "PUT",
      url: `${apiUrl()}/v1/calendars/${encodeURIComponent(name)}`,
      headers: version === undefined ? { "if-none-match": "*" } : { "if-match": `"${version}"` },
      body: text,
    }),
  };
}

interface Status {
  saved: PutCalendar | undefined;
  isDirty: boolean;
  isConflicting: boolean;
  isRefused: boolean;
  takenText: string | null;
}

function statusOf({ saved, isDirty, isConflicting, isRefused, takenText }: Status): string {
  if (saved === undefined && !isDirty)
    return `Nothing is changed.${takenText === null ? "" : ` ${takenText}`}`;
  if (saved === undefined && isConflicting) return "Not saved: choose a version first.";
  if (saved === undefined)
    return isRefused ? "Not saved yet: the rules have a fault, shown at its field." : "Not saved yet.";
  const { replanned, pending } = saved;
  const later = pending === 0 ? "" : `, ${numberText(pending)} follow with the next ticks`;
  return `Saved. ${amountText({ count: replanned, more: false }, "schedule is", "schedules are")} planned again${later}.`;
}

function useSaveCalendar(
  name: string,
  base: Calendar | undefined,
  refetch: () => void,
  onSaved: (saved: Calendar) => void,
) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  return useAction({
    mutationFn: (rules: Rules) =>
      carillon.calendars.put(
        name,
        bodyOf(rules),
        base === undefined ? { ifNoneMatch: "*" } : { ifMatch: base.version },
      ),
    onSuccess: async (saved) => {
      queryClient.setQueryData(["calendar", name], saved);
      onSaved(saved);
      await queryClient.invalidateQueries({ queryKey: ["calendars"] });
    },
    onError: (error) => {
      if (isPreconditionFailed(error)) refetch();
    },
  });
}

function RuleFaults({ error }: { error: Error }) {
  return (
    <ul className="notice bad" role="alert">
      <FaultItems error={error} />
    </ul>
  );
}
