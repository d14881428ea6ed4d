import type { MouseEvent } from "react";

/**
 * For a button that closes a dialog. It may come under the pointer when the action beside it begins or
 * ends: the second click of a double click on the action does not close the dialog, whose result or
 * secret would be lost.
 */
export function onDoneClick(event: MouseEvent & { preventBaseUIHandler(): void }): void {
  if (event.detail > 1) event.preventBaseUIHandler();
}
