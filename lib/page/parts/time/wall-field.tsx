import {
  type FocusEvent,
  type KeyboardEvent,
  useEffect,
  useEffectEvent,
  useId,
  useRef,
  useState,
} from "react";
import { instantOfWall, wallInput, weekdayOfWall } from "../../data/time/wall-input.ts";
import { useZone } from "../../hooks/use-zone.ts";
import "../../look/wall-field.css";

/** The pause after a choice of the browser's calendar before it counts, if no key is typed. */
const pickMs = 700;
/** With this a year has four digits, and the hour follows the fourth one. */
const latest = "9999-12-31T23:59";

interface WallFieldProps {
  label: string;
  className?: string;
  title?: string;
  at: number | undefined;
  /** Default: the zone of the screen. */
  zone?: string;
  /** Whether an empty field is a fault. Otherwise it means no instant. */
  isRequired?: boolean;
  /** A fault of the instant, in words. */
  fault?: string | undefined;
  onChange(at: number | undefined): void;
}

interface Draft {
  text: string;
  isTyped: boolean;
}

/**
 * An instant on the clocks of a zone. A browser reports each digit of a date as a change, so
 * the field keeps what is typed until Enter, or until it loses the focus.
 */
export function WallField({
  label,
  className,
  title,
  at,
  isRequired,
  fault,
  onChange,
  ...given
}: WallFieldProps) {
  const screenZone = useZone();
  const zone = given.zone ?? screenZone;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const keyAt = useRef(Number.NEGATIVE_INFINITY);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [isPartial, setPartial] = useState(false);
  /** The text at the begin of the focus: a browser drops the focus of a field whose value changes. */
  const [focused, setFocused] = useState<string | null>(null);
  const known = at === undefined || Number.isNaN(at) ? "" : wallInput(at, zone);
  const text = draft?.text ?? focused ?? known;
  const apply = useEffectEvent(() => {
    const chosen = draft === null ? undefined : (instantOfWall(draft.text, zone) ?? undefined);
    const isUnread = isRequired === true && draft !== null && chosen === undefined;
    const partial = input.current?.validity.badInput === true || isUnread;
    setPartial(partial);
    if (partial || draft === null) return;
    if ((chosen === undefined ? "" : wallInput(chosen, zone)) === known) setDraft(null);
    else onChange(chosen);
  });
  // The text stays until its instant comes back, by the address for instance.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new instant ends the draft.
  useEffect(() => {
    if (draft !== null) setFocused((before) => (before === null ? null : known));
    setDraft(null);
    setPartial(false);
  }, [known]);
  useEffect(() => {
    if (draft === null || draft.isTyped) return;
    const timer = setTimeout(apply, pickMs);
    return () => clearTimeout(timer);
  }, [draft]);
  const leave = useEffectEvent(() => {
    apply();
    setFocused(null);
  });
  const onBlur = ({ relatedTarget }: FocusEvent) => {
    // A field that is about to get the focus would lose it by a change of its value.
    if (isField(relatedTarget)) document.addEventListener("focusin", () => leave(), { once: true });
    else leave();
  };
  const onKeyDown = ({ key, timeStamp }: KeyboardEvent) => {
    keyAt.current = timeStamp;
    if (draft?.isTyped === false) setDraft({ ...draft, isTyped: true });
    if (key === "Enter") apply();
  };
  const words = isPartial ? "Type a whole date and time." : draft === null ? fault : undefined;
  return (
    <label className={`wall-field ${className ?? ""}`}>
      <span>
        {label} <i>{weekdayOfWall(text)}</i>
      </span>
      {words === undefined ? null : (
        <span id={id} className="field-fault" role="alert">
          {words}
        </span>
      )}
      <input
        ref={input}
        type="datetime-local"
        title={title}
        max={latest}
        value={text}
        aria-invalid={words !== undefined}
        aria-describedby={words === undefined ? undefined : id}
        onKeyDown={onKeyDown}
        onChange={({ target, timeStamp }) =>
          setDraft({ text: target.value, isTyped: timeStamp - keyAt.current < pickMs })
        }
        onFocus={() => setFocused(known)}
        onBlur={onBlur}
      />
    </label>
  );
}

const isField = (element: Element | null) => element?.matches("input[type=datetime-local]") === true;
