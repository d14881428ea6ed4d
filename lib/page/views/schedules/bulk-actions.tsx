import type { BulkAction, BulkPreview, Selection } from "../../../client/schedule.ts";
import { amountText, countText, isNone, isOrAre } from "../../data/amounts.ts";
import { changeAll, changingText, doneText } from "../../data/bulk/change-all.ts";
import { releasedText } from "../../data/bulk/released-text.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { type Acting, Confirm } from "../../parts/dialog/confirm.tsx";
import { useHoldEnd } from "../../parts/time/hold-end.tsx";
import { BulkSamples } from "./bulk-samples.tsx";
import { PatchMany } from "./patch-many.tsx";

interface BulkActionsProps {
  selection: Selection;
  /** The selection in words: `12 selected`, `all that match`. */
  what: string;
}

/**
 * Hold, release, change and delete the schedules of a selection, each counted by the server first. All that
 * there are cannot be deleted at once.
 */
export function BulkActions(props: BulkActionsProps) {
  const mayHold = useMay("pauseManySchedules");
  const mayRelease = useMay("resumeManySchedules");
  const mayPatch = useMay("patchManySchedules");
  const mayDelete = useMay("deleteManySchedules");
  return (
    <>
      {mayHold ? <HoldMany {...props} /> : null}
      {mayRelease ? <ReleaseMany {...props} /> : null}
      {mayPatch ? <PatchMany {...props} /> : null}
      {mayDelete && props.selection.all === undefined ? <DeleteMany {...props} /> : null}
    </>
  );
}

function useBulk({ selection }: BulkActionsProps) {
  const { carillon } = useSession();
  return {
    preview: (action: BulkAction) => (signal: AbortSignal) => carillon.schedules.tryMany(action, { signal }),
    act:
      (action: BulkAction, word: string) =>
      async ({ reason, seen, progress, isStopped }: Acting<BulkPreview>) => {
        const total = await changeAll(carillon, {
          action: reason === "" ? action : { ...action, reason },
          onPart: (done) => progress(changingText(done, seen, word)),
          isStopped,
        });
        return doneText(total, word);
      },
    previewKey: ["bulk", selection],
  };
}

function HoldMany(props: BulkActionsProps) {
  const { preview, act, previewKey } = useBulk(props);
  const { until, fields, fieldFault } = useHoldEnd();
  const action: BulkAction = { verb: "pause", ...props.selection, until };
  return (
    <Confirm<BulkPreview>
      button={`Hold ${props.what} …`}
      title="Hold these schedules?"
      previewKey={[...previewKey, "hold"]}
      preview={preview({ verb: "pause", ...props.selection })}
      describe={(seen) => (
        <BulkSamples preview={seen}>
          no run until the hold ends.{heldText(seen)}
          {seen.paused === undefined || isNone(seen.paused)
            ? ""
            : " A schedule with several holds runs again when all of them have ended."}{" "}
          Schedules that are made later are not held; for those, hold a group or a tag.
        </BulkSamples>
      )}
      fields={fields}
      fieldFault={fieldFault}
      verb={(seen) => verbText("Hold", seen)}
      isStoppable
      act={act(action, "held")}
    />
  );
}

function ReleaseMany(props: BulkActionsProps) {
  const { carillon } = useSession();
  const { preview, previewKey } = useBulk(props);
  const action: BulkAction = { verb: "resume", ...props.selection };
  return (
    <Confirm<BulkPreview>
      button={`Release ${props.what} …`}
      title="Release these schedules?"
      previewKey={[...previewKey, "release"]}
      preview={preview(action)}
      describe={(seen) => (
        <BulkSamples preview={seen}>
          your hold ends, where there is one.{heldText(seen)} Holds of others stay.
        </BulkSamples>
      )}
      verb={(seen) => (seen.paused !== undefined && isNone(seen.paused) ? null : verbText("Release", seen))}
      isStoppable
      act={async ({ reason, seen, progress, isStopped }) => {
        const { done, ...rest } = await changeAll(carillon, {
          action: reason === "" ? action : { ...action, reason },
          onPart: (released) => progress(changingText(released, seen, "released")),
          isStopped,
        });
        const after = await carillon.schedules.tryMany(action).catch(() => undefined);
        return releasedText({ hold: "Your hold", done, held: after?.paused, rest });
      }}
    />
  );
}

function DeleteMany(props: BulkActionsProps) {
  const { preview, act, previewKey } = useBulk(props);
  const action: BulkAction = { verb: "delete", ...props.selection };
  return (
    <Confirm<BulkPreview>
      button={`Delete ${props.what} …`}
      title="Delete these schedules?"
      previewKey={[...previewKey, "delete"]}
      preview={preview(action)}
      describe={(seen) => <BulkSamples preview={seen}>deleted, and waiting jobs are cancelled.</BulkSamples>}
      verb={(seen) => verbText("Delete", seen)}
      isStoppable
      act={act(action, "deleted")}
      isDangerous
    />
  );
}

/** How many of them are held now. */
function heldText({ paused }: BulkPreview): string {
  if (paused === undefined) return "";
  if (isNone(paused)) return " None of them is held now.";
  return ` ${countText(paused)} of them ${isOrAre(paused)} held now.`;
}

function verbText(verb: string, seen: BulkPreview): string | null {
  return isNone(seen) ? null : `${verb} ${amountText(seen, "schedule")}`;
}
