import { useId } from "react";
import { CarillonProblem } from "../../../client/request/problem.ts";
import { useMay, useMayNot } from "../../data/token-query.ts";
import { sentenceOf } from "../../parts/answer-state.tsx";
import { CopyAs } from "../../parts/copy-as.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import type { Obstacle } from "./obstacle.ts";

interface SaveLineProps {
  isNew: boolean;
  isDirty: boolean;
  isSaving: boolean;
  /** Another version was saved meanwhile, and the editor has not decided yet. */
  isConflicting: boolean;
  /** The first thing that is missing before it can be saved; null if it can be. */
  obstacle: Obstacle | null;
  /** The effect of the edit on the coming runs; null until it is known. */
  consequence: string | null;
  error: Error | null;
  onSave(): void;
  /** Goes to the field that is in the way. */
  onBlocked(obstacle: Obstacle): void;
  commands: { carillon: string; curl: string };
}

/** The button that saves, with the state of the edit and the refusal of the last save. */
export function SaveLine(props: SaveLineProps) {
  const { isNew, isDirty, isSaving, isConflicting, obstacle, error, onSave, onBlocked, commands } = props;
  const operation = isNew ? "createSchedule" : "putSchedule";
  const maySave = useMay(operation);
  const mayNotSave = useMayNot(operation);
  const state = useId();
  const isIdle = isSaving || isConflicting || !(isDirty || isNew);
  return (
    <div className="save-line">
      {maySave ? (
        <button
          type="button"
          className="button primary"
          disabled={isIdle}
          // It can be pressed, and leads to what is missing.
          aria-disabled={obstacle !== null}
          aria-describedby={state}
          onClick={() => (obstacle === null ? onSave() : onBlocked(obstacle))}
        >
          {isNew ? "Create" : "Save"}
        </button>
      ) : null}
      <span id={state} className="quiet" role="status">
        {obstacle === null || isSaving || !(isDirty || isNew) ? (
          stateText(props)
        ) : (
          <button type="button" className="text-button" onClick={() => onBlocked(obstacle)}>
            {obstacle.text}
          </button>
        )}
        {mayNotSave ? " Your token may not save: try times here, and copy the command." : ""}
      </span>
      <CopyAs {...commands} />
      {error === null ? null : (
        <p className="notice bad" role="alert">
          Not saved: <Refusal error={error} />
        </p>
      )}
    </div>
  );
}

function stateText({ isNew, isSaving, isDirty, consequence }: SaveLineProps) {
  if (isSaving) return "Saving …";
  if (!(isDirty || isNew)) return "Nothing is changed.";
  return consequence === null ? "Not saved yet." : `Not saved yet. ${consequence}`;
}

/** The first fault with its field: that the schedule is not understood would not help. */
function Refusal({ error }: { error: Error }) {
  if (!(error instanceof CarillonProblem)) return <Sentence text={sentenceOf(error)} />;
  const [fault, ...others] = error.errors;
  if (fault === undefined) return <Sentence text={error.detail} />;
  return (
    <>
      <code>{fault.path}</code> <Sentence text={fault.message} />.
      {others.length === 0 ? "" : ` ${others.length} more below the JSON.`}
    </>
  );
}
