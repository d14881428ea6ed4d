import { Dialog } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";
import "../../look/dialog.css";

interface SecretDialogProps {
  button: string;
  title: string;
  children(onBusy: (isBusy: boolean) => void): ReactNode;
}

/**
 * The dialog in which a secret is made and shown. It stays open while the secret is made: closed
 * then, by Escape for example, it would lose the secret.
 */
export function SecretDialog({ button, title, children }: SecretDialogProps) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog.Root open={isOpen} onOpenChange={(opens) => setOpen(opens || isBusy)} disablePointerDismissal>
      <Dialog.Trigger className="button">{button}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          {children(setBusy)}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
