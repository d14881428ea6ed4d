import { useRouter } from "@tanstack/react-router";
import { type RefObject, useEffect, useEffectEvent, useRef } from "react";

/** One link of a row. */
interface Opened {
  row: string;
  href: string | null;
}

/** The link that was last followed from each table, by its entry in the history of this tab. */
const openedFrom = new Map<string, Opened>();

interface ListedRows {
  label: string;
  body: RefObject<HTMLElement | null>;
  count: number;
  keyAt(index: number): string | number;
  /** Moves the row onto the screen if it is not there. */
  show(index: number): void;
}

/** After Back to a list, the focus goes to the link that was followed from it, if its row is still there. */
export function useReturnedRow({ label, body, count, keyAt, show }: ListedRows): void {
  const { history } = useRouter();
  const entry = () => `${history.location.state.__TSR_key} ${label}`;
  const awaited = useRef<Opened | undefined>(undefined);
  const remember = useEffectEvent((event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const index = link?.closest<HTMLElement>("[data-row]")?.dataset["index"];
    if (link === null || index === undefined || opensElsewhere(event)) return;
    openedFrom.set(entry(), { row: String(keyAt(Number(index))), href: link.getAttribute("href") });
  });
  const recall = useEffectEvent(() => {
    awaited.current = openedFrom.get(entry());
  });
  useEffect(() => {
    const element = body.current;
    recall();
    element?.addEventListener("click", remember);
    return () => element?.removeEventListener("click", remember);
  }, [body]);
  const seek = useEffectEvent(() => {
    const { current: opened } = awaited;
    if (opened === undefined || count === 0) return;
    const index = Array.from({ length: count }, (_, at) => at).find((at) => String(keyAt(at)) === opened.row);
    if (index === undefined || !isUnfocused()) {
      awaited.current = undefined;
      return;
    }
    const row = body.current?.querySelector(`[data-index="${index}"]`);
    if (row === null || row === undefined) show(index);
    else {
      awaited.current = undefined;
      // After the frame in which the change of the view gives the focus to the whole content.
      requestAnimationFrame(() => {
        if (isUnfocused()) linkIn(row, opened.href)?.focus();
      });
    }
  });
  // After each render: the rows come with the answer, and those on the screen with the scrolling.
  useEffect(() => seek());
}

const opensElsewhere = ({ ctrlKey, metaKey, shiftKey, altKey }: MouseEvent) =>
  ctrlKey || metaKey || shiftKey || altKey;

/** Whether no control has the focus that the reader would lose. */
const isUnfocused = () => document.activeElement?.matches("body, main") !== false;

function linkIn(row: Element, href: string | null): HTMLElement | undefined {
  const links = [...row.querySelectorAll("a")];
  return links.find((link) => link.getAttribute("href") === href) ?? links[0];
}
