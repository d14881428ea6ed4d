import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { CopyButton } from "../../parts/copy-button.tsx";
import { onDoneClick } from "../../parts/dialog/done-click.ts";

/** A secret, which exists only in the dialog around it. */
export function IssuedToken({ token, children }: { token: string; children: ReactNode }) {
  return (
    <>
      <div className="dialog-text">
        <p>{children} Copy it now: it is shown only this once, and Carillon keeps no copy.</p>
        <p className="secret mono">{token}</p>
        <CopyButton text={token} label="Copy the token" />
      </div>
      <footer>
        <Dialog.Close className="button primary" onClick={onDoneClick}>
          I have it
        </Dialog.Close>
      </footer>
    </>
  );
}
