import { useEffect, useId, useState } from "react";
import type { Fault } from "../../../client/request/problem.ts";
import { faultsOf } from "../edit/faults.ts";
import { Faults, Hint } from "../edit/field.tsx";
import { allWeekdays, type Rules } from "./calendar-rules.ts";

interface RuleFieldsProps {
  rules: Rules;
  faults: readonly Fault[];
  isLocked: boolean;
  onChange(rules: Rules): void;
}

/** The rules as they are written. */
export function RuleFields({ rules, faults, isLocked, onChange }: RuleFieldsProps) {
  const id = useId();
  return (
    <fieldset className="form" disabled={isLocked}>
      <div className="field">
        <label htmlFor={id}>Description</label>
        <input
          id={id}
          value={rules.description}
          onChange={(event) => onChange({ ...rules, description: event.target.value })}
        />
      </div>
      <fieldset>
        <legend>Every week</legend>
        <div className="weekdays">
          {allWeekdays.map((day) => (
            <label key={day}>
              <input
                type="checkbox"
                checked={rules.weekly.includes(day)}
                onChange={(event) =>
                  onChange({
                    ...rules,
                    weekly: allWeekdays.filter((each) =>
                      each === day ? event.target.checked : rules.weekly.includes(each),
                    ),
                  })
                }
              />{" "}
              {day}
            </label>
          ))}
        </div>
      </fieldset>
      <Entries
        label="Days without runs"
        hint="one a line, e.g. 2026-12-24, 12-25, 2026-12-28..2026-12-31, 12-24..01-02"
        entries={rules.dates}
        faults={faultsOf(faults, ["dates"])}
        onChange={(dates) => onChange({ ...rules, dates })}
      />
      <Entries
        label="Working days nevertheless"
        hint="in the same forms"
        entries={rules.except}
        faults={faultsOf(faults, ["except"])}
        onChange={(except) => onChange({ ...rules, except })}
      />
    </fieldset>
  );
}

/** The fields of dates show their faults themselves. */
export const isAtField = ({ path }: Fault): boolean => /^(dates|except)(\[|$)/.test(path);

/** `Line 5: takes a day such as …`. */
function lineText({ path, message }: Fault): string {
  const [, index] = /\[(\d+)\]$/.exec(path) ?? [];
  return index === undefined ? message : `Line ${Number(index) + 1}: ${message}`;
}

interface EntriesProps {
  label: string;
  hint: string;
  entries: readonly string[];
  faults: readonly Fault[];
  onChange(entries: string[]): void;
}

const entriesOf = (typed: string): string[] =>
  typed
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function Entries({ label, hint, entries, faults, onChange }: EntriesProps) {
  const id = useId();
  const written = entries.join("\n");
  const [typed, setTyped] = useState(written);
  useEffect(
    () => setTyped((before) => (entriesOf(before).join("\n") === written ? before : written)),
    [written],
  );
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        aria-describedby={`${id}-hint ${id}-fault`}
        aria-invalid={faults.length > 0}
        className="mono"
        rows={5}
        spellCheck={false}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          onChange(entriesOf(event.target.value));
        }}
      />
      <Hint id={`${id}-hint`}>{hint}</Hint>
      <Faults id={`${id}-fault`} messages={faults.map(lineText)} />
    </div>
  );
}
