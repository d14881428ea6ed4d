import { Dialog } from "@base-ui/react/dialog";
import { onDoneClick } from "./done-click.ts";

/** Closes a dialog without its action, and not while the action runs. */
export function Leave({ isBusy }: { isBusy: boolean }) {
  return (
    <Dialog.Close className="button" disabled={isBusy} onClick={onDoneClick}>
      Leave it
    </Dialog.Close>
  );
}
