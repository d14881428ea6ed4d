import { type FocusEvent, type KeyboardEvent, useEffect, useEffectEvent, useRef, useState } from "react";
import { instantOfWall, wallInput } from "../../data/time/wall-input.ts";

/** The pause after a choice of the browser's calendar before it counts, if no key is typed. */
const pickMs = 700;
/** The pause after the last key before a typed time counts: people look from the keys to the list and wait. */
const typedMs = 1_500;

/** `typed` does not count yet; `partial` cannot count, as it is no whole date and time. */
export type DraftState = "none" | "typed" | "partial";

interface WallDraftGiven {
  at: number | undefined;
  zone: string;
  isRequired: boolean;
  onChange(at: number | undefined): void;
  onState: ((state: DraftState) => void) | undefined;
}

interface Draft {
  text: string;
  isTyped: boolean;
}

/**
 * The text of a field for an instant. A browser reports each digit of a date as a change, so the text is
 * kept until Enter, until the field loses the focus, or until a pause after a time that can be meant.
 */
export function useWallDraft({ at, zone, isRequired, onChange, onState }: WallDraftGiven) {
  const input = useRef<HTMLInputElement>(null);
  const keyAt = useRef(Number.NEGATIVE_INFINITY);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [isPartial, setPartial] = useState(false);
  const known = at === undefined || Number.isNaN(at) ? "" : wallInput(at, zone);
  const state: DraftState = isPartial ? "partial" : draft === null ? "none" : "typed";
  const report = useEffectEvent(() => onState?.(state));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each state is reported once.
  useEffect(() => report(), [state]);
  const apply = useEffectEvent(() => {
    const chosen = draft === null ? undefined : (instantOfWall(draft.text, zone) ?? undefined);
    const isUnread = draft !== null && chosen === undefined && (isRequired || draft.text !== "");
    const partial = input.current?.validity.badInput === true || isUnread;
    setPartial(partial);
    // Also at once: the press that takes the focus away may be that of the button which needs to know.
    if (partial) onState?.("partial");
    if (partial || draft === null) return;
    if ((chosen === undefined ? "" : wallInput(chosen, zone)) === known) setDraft(null);
    else onChange(chosen);
  });
  // The text stays until its instant comes back, by the address for instance.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new instant ends the draft.
  useEffect(() => {
    setDraft(null);
    setPartial(false);
  }, [known]);
  useEffect(() => {
    if (draft === null || (draft.isTyped && instantOfWall(draft.text, zone) === null)) return;
    const timer = setTimeout(apply, draft.isTyped ? typedMs : pickMs);
    return () => clearTimeout(timer);
  }, [draft, zone]);
  const leave = useEffectEvent(() => apply());
  return {
    input,
    state,
    text: draft?.text ?? known,
    onInput: (text: string, timeStamp: number) => {
      setPartial(false);
      setDraft({ text, isTyped: timeStamp - keyAt.current < pickMs });
    },
    onKeyDown: ({ key, timeStamp }: KeyboardEvent) => {
      keyAt.current = timeStamp;
      // A new object, so that the pause begins again, also with a key that goes to another digit.
      if (draft !== null) setDraft({ ...draft, isTyped: true });
      if (key === "Enter") apply();
    },
    onBlur: ({ relatedTarget }: FocusEvent) => {
      // A field that is about to get the focus would lose it by a change of its value.
      if (isField(relatedTarget)) document.addEventListener("focusin", () => leave(), { once: true });
      else leave();
    },
  };
}

const isField = (element: Element | null) => element?.matches("input[type=datetime-local]") === true;
