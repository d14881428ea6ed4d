import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useBlocker } from "@tanstack/react-router";
import { useEffect } from "react";
import "../../look/dialog.css";

interface LeaveGuardProps {
  isDirty: boolean;
  /** A save is under way, and its answer leads on. */
  isSaving: boolean;
  onLose: () => void;
}

/** Asks before a view with unsaved changes is left; also before the tab is closed. */
export function LeaveGuard({ isDirty, isSaving, onLose }: LeaveGuardProps) {
  const isHeld = isDirty || isSaving;
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isHeld && current.pathname !== next.pathname,
    enableBeforeUnload: isHeld,
    withResolver: true,
  });
  const isFree = blocker.status === "blocked" && !isHeld;
  useEffect(() => {
    if (isFree) blocker.proceed?.();
  }, [isFree, blocker]);
  if (blocker.status !== "blocked") return null;
  return (
    <AlertDialog.Root open>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">
            {isSaving ? "It is being saved" : "Leave without saving?"}
          </AlertDialog.Title>
          <p role="status">
            {isSaving
              ? "The server has not answered yet. Its answer is shown here."
              : "Your changes are not saved and would be lost."}
          </p>
          <footer>
            <button type="button" className="button primary" onClick={blocker.reset}>
              Stay here
            </button>
            {isSaving ? null : (
              <button
                type="button"
                className="button danger"
                onClick={() => {
                  onLose();
                  blocker.proceed();
                }}
              >
                Leave and lose them
              </button>
            )}
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
