import { CarillonProblem } from "../../../client/request/problem.ts";
import { useMay } from "../../data/token-query.ts";
import { sentenceOf } from "../../parts/answer-state.tsx";
import { CopyAs } from "../../parts/copy-as.tsx";

interface SaveLineProps {
  isNew: boolean;
  canSave: boolean;
  isDirty: boolean;
  /** The server would refuse it. */
  isFaulty: boolean;
  isSaving: boolean;
  error: Error | null;
  onSave(): void;
  commands: { carillon: string; curl: string };
}

/** The button that saves, with the state of the edit and the refusal of the last save. */
export function SaveLine({
  isNew,
  canSave,
  isDirty,
  isFaulty,
  isSaving,
  error,
  onSave,
  commands,
}: SaveLineProps) {
  const maySave = useMay(isNew ? "createSchedule" : "putSchedule");
  return (
    <div className="save-line">
      {maySave ? (
        <button type="button" className="button primary" disabled={!canSave} onClick={onSave}>
          {isNew ? "Create" : "Save"}
        </button>
      ) : null}
      <span className="quiet" role="status">
        {stateText({ isSaving, isDirty, isFaulty })}
        {maySave ? "" : " Your token may not save: try times here, and copy the command."}
      </span>
      <CopyAs {...commands} />
      {error === null ? null : (
        <p className="notice bad" role="alert">
          Not saved: {refusalOf(error)}
        </p>
      )}
    </div>
  );
}

function stateText({
  isSaving,
  isDirty,
  isFaulty,
}: Pick<SaveLineProps, "isSaving" | "isDirty" | "isFaulty">) {
  if (isSaving) return "Saving …";
  if (isFaulty) return "Not saved yet: the server would refuse it.";
  return isDirty ? "Not saved yet." : "Nothing is changed.";
}

/** The first fault with its field: that the schedule is not understood would not help. */
function refusalOf(error: Error): string {
  if (!(error instanceof CarillonProblem)) return sentenceOf(error);
  const [fault, ...others] = error.errors;
  if (fault === undefined) return error.detail;
  const more = others.length === 0 ? "" : ` ${others.length} more below the JSON.`;
  return `${fault.path} ${fault.message}.${more}`;
}
