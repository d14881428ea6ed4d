import { type RefObject, useEffect } from "react";

/** A press anywhere on a row follows its marked link (`data-open`), as Enter on that link does. */
export function useOpenedRow(body: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = body.current;
    element?.addEventListener("click", open);
    return () => element?.removeEventListener("click", open);
  }, [body]);
}

function open(event: MouseEvent): void {
  const { target } = event;
  // A text that was just selected in a row is to be copied.
  if (!(target instanceof Element) || isControl(target) || getSelection()?.isCollapsed === false) return;
  const link = target.closest("[data-row]")?.querySelector("a[data-open]");
  const { ctrlKey, metaKey, shiftKey, altKey } = event;
  link?.dispatchEvent(
    new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey, altKey }),
  );
}

const isControl = (element: Element) => element.closest("a, button, input, label, select, summary") !== null;
