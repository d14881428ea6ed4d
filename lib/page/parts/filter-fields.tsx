import { useEffect, useEffectEvent, useState } from "react";
import "../look/tables.css";

/** The pause after the last key before a typed text is searched for. */
const typingMs = 150;

interface TextFilterProps {
  label: string;
  placeholder?: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
}

export function TextFilter({ label, placeholder, value = "", onChange }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const search = useEffectEvent(() => onChange(typed === "" ? undefined : typed));
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(search, typingMs);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <label>
      <span>{label}</span>
      <input
        type="text"
        spellCheck={false}
        autoComplete="off"
        placeholder={placeholder}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}

interface ChoiceFilterProps<Choice extends string> {
  label: string;
  /** The word for no choice; "any" without one. */
  none?: string;
  /** Each choice with its word. */
  choices: readonly (readonly [Choice, string])[];
  value: Choice | undefined;
  /** Why the choice is not in force here. It stays, for the lists in which it is. */
  whyDisabled?: string | undefined;
  onChange(value: Choice | undefined): void;
}

export function ChoiceFilter<Choice extends string>({
  label,
  none,
  choices,
  value,
  whyDisabled,
  onChange,
}: ChoiceFilterProps<Choice>) {
  return (
    <label>
      <span>{label}</span>
      <select
        value={value ?? ""}
        disabled={whyDisabled !== undefined}
        title={whyDisabled}
        onChange={(event) => onChange(choices.find(([choice]) => choice === event.target.value)?.[0])}
      >
        <option value="">{none ?? "any"}</option>
        {choices.map(([choice, word]) => (
          <option key={choice} value={choice}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CheckFilterProps {
  label: string;
  checked: boolean;
  onChange(checked: boolean): void;
}

export function CheckFilter({ label, checked, onChange }: CheckFilterProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  );
}
