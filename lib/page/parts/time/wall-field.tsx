import { useId } from "react";
import { weekdayOfWall } from "../../data/time/wall-input.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { type DraftState, useWallDraft } from "./wall-draft.ts";
import "../../look/wall-field.css";

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
  /** Shown while nothing is typed and nothing is wrong. */
  note?: string | undefined;
  /** Shown while a typed time does not count yet. */
  hint?: string;
  onChange(at: number | undefined): void;
  onState?(state: DraftState): void;
}

/** An instant on the clocks of a zone, with its weekday. */
export function WallField({
  label,
  className = "",
  title,
  at,
  isRequired = false,
  fault,
  note,
  hint,
  onChange,
  onState,
  ...given
}: WallFieldProps) {
  const screenZone = useZone();
  const zone = given.zone ?? screenZone;
  const id = useId();
  const { input, state, text, onInput, onKeyDown, onBlur } = useWallDraft({
    at,
    zone,
    isRequired,
    onChange,
    onState,
  });
  const words = { none: fault, typed: undefined, partial: "Type a whole date and time." }[state];
  const told = state === "typed" ? hint : words === undefined ? note : undefined;
  return (
    <div className={`wall-field ${className}`}>
      <label>
        <span>
          {label} <i>{weekdayOfWall(text)}</i>
        </span>
        <input
          ref={input}
          type="datetime-local"
          title={title}
          max={latest}
          value={text}
          aria-invalid={words !== undefined}
          aria-describedby={words === undefined ? undefined : id}
          onKeyDown={onKeyDown}
          onChange={({ target, timeStamp }) => onInput(target.value, timeStamp)}
          onBlur={onBlur}
        />
      </label>
      {words === undefined ? null : (
        <p id={id} className="field-fault" role="alert">
          {words}
        </p>
      )}
      {told === undefined ? null : (
        <p className="field-hint" role="status">
          {told}
        </p>
      )}
    </div>
  );
}
