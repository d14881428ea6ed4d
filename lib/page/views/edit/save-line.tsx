import { type ReactNode, useId } from "react";
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
  /** The question which version to go on with, where another one was saved meanwhile. */
  conflict: ReactNode;
  /** Names a version that was saved meanwhile and that the form shows, since nothing was edited. */
  takenText: string | null;
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
  const { isNew, isDirty, isSaving, conflict, obstacle, error, onSave, onBlocked, commands } = props;
  const operation = isNew ? "createSchedule" : "putSchedule";
  const maySave = useMay(operation);
  const mayNotSave = useMayNot(operation);
  const state = useId();
  const isIdle = isSaving || conflict !== null || !(isDirty || isNew);
  return (
    <div className="save-line">
      {conflict}
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
      {/* The conflict says it already, and what can be done. */}
      {error === null || conflict !== null ? null : (
        <p className="notice bad" role="alert">
          Not saved: <Refusal error={error} />
        </p>
      )}
    </div>
  );
}

function stateText({ isNew, isSaving, isDirty, conflict, takenText, consequence }: SaveLineProps) {
  if (isSaving) return "Saving …";
  if (!(isDirty || isNew)) return `Nothing is changed.${takenText === null ? "" : ` ${takenText}`}`;
  if (conflict !== null) return "Not saved: choose a version first.";
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
