import { Dialog } from "@base-ui/react/dialog";
import {
  type KeyboardEvent,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { type Target, useTargets } from "./palette-targets.ts";
import { contentElement } from "./skip-link.tsx";
import "../look/dialog.css";
import "../look/palette.css";

/** Ctrl+K or ⌘K: go to a view, a schedule by the begin of its key, or a job by its id. */
export function Palette() {
  const [isOpen, setOpen] = useState(false);
  /** Where the focus goes when it closes: back, or into the place that was gone to. */
  const back = useRef<HTMLElement | null>(null);
  const change = (open: boolean) => {
    if (open) back.current = focusedElement();
    setOpen(open);
  };
  // The content is no control, so the dialog would choose the first control in it.
  const giveBack = () => {
    back.current?.focus();
    return back.current === null;
  };
  const onKey = useEffectEvent((event: globalThis.KeyboardEvent) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    change(!isOpen);
  });
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => onKey(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return (
    <Dialog.Root open={isOpen} onOpenChange={change}>
      <Dialog.Trigger className="find" aria-keyshortcuts="Control+K">
        <svg className="glass" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14" />
        </svg>
        <span>Go to a key, a job, a view</span>
        <kbd>Ctrl K</kbd>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="palette" finalFocus={giveBack}>
          <Dialog.Title className="hidden">Go to</Dialog.Title>
          <Finder
            onGone={() => {
              back.current = contentElement();
              setOpen(false);
            }}
          />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const focusedElement = () =>
  document.activeElement instanceof HTMLElement && document.activeElement !== document.body
    ? document.activeElement
    : null;

function Finder({ onGone }: { onGone(): void }) {
  const listId = useId();
  const field = useRef<HTMLInputElement>(null);
  // At once, so that no letter typed right after Ctrl+K is lost.
  useLayoutEffect(() => field.current?.focus(), []);
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const sought = typed.trim();
  const { targets, isEmpty, isAnswered } = useTargets(sought);
  const chosen = Math.min(place, targets.length - 1);
  const go = (target: Target | undefined) => {
    if (target === undefined) return;
    target.go();
    onGone();
  };
  // Enter right after the last letter means the place that the answer puts first.
  const [isGoing, setGoing] = useState(false);
  const goNow = useEffectEvent(() => go(targets[chosen]));
  useEffect(() => {
    if (isGoing && isAnswered) goNow();
  }, [isGoing, isAnswered]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setPlace((chosen + step + targets.length) % Math.max(1, targets.length));
    }
    if (event.key !== "Enter") return;
    if (isAnswered || chosen > 0) go(targets[chosen]);
    else setGoing(true);
  };
  return (
    <>
      <input
        ref={field}
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={targets[chosen] === undefined ? undefined : `${listId}-${chosen}`}
        aria-label="Go to a key, a job, a view"
        placeholder="A key, a job's id, a view"
        spellCheck={false}
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setPlace(0);
          setGoing(false);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={listId} aria-label="Places">
        {targets.map((target, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, as in every combobox.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          <div
            key={target.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerMove={() => setPlace(index)}
            onClick={() => go(target)}
          >
            <span className="quiet">{target.sort}</span>
            <span className={target.sort === "view" || target.sort === "list" ? undefined : "mono"}>
              {target.text}
            </span>
          </div>
        ))}
      </div>
      {sought === "" || isEmpty ? (
        <p className="palette-hint">
          {isEmpty ? "No key and no view begins with that. " : ""}Keys are found by their beginning, e.g.{" "}
          <span className="mono">crm:contact:</span>
        </p>
      ) : null}
    </>
  );
}
