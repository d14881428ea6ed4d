import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useBlocker } from "@tanstack/react-router";
import "../../look/dialog.css";

/** Asks before a view with unsaved changes is left; also before the tab is closed. */
export function LeaveGuard({ isDirty, onLose }: { isDirty: boolean; onLose: () => void }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <AlertDialog.Root open>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">Leave without saving?</AlertDialog.Title>
          <p>Your changes are not saved and would be lost.</p>
          <footer>
            <button type="button" className="button primary" onClick={blocker.reset}>
              Stay here
            </button>
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
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
