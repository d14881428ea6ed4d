import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from "react";
import type { Json } from "../../../client/json.ts";
import { scheduleDefaults } from "../../../client/schedule-defaults.ts";
import { calendarsQuery } from "../../data/calendar-queries.ts";
import { valueAt } from "../../data/document/json-text.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Sentence } from "../../parts/sentence.tsx";
import { type Draft, setValue } from "./draft/draft.ts";
import { faultsOf } from "./faults.ts";
import type { FormField } from "./form-fields.ts";
import { NewCalendar } from "./new-calendar.tsx";
import { Proposals } from "./proposals.tsx";
import { zoneMeant } from "./zone-meant.ts";

interface FieldProps<Field> {
  field: Field;
  draft: Draft;
}

/** One field of the form. A value that it cannot draw is left to the JSON. */
export function Field({ field, draft }: FieldProps<FormField>) {
  const id = useId();
  const value = valueAt(draft.value, field.path);
  const [isTyping, setTyping] = useState(false);
  // A zone is no zone until its last letter: its fault is said with Enter, or when the field is left.
  const faults = isTyping ? [] : faultsOf(draft.faults, field.path);
  const hinted = field.hint === undefined ? undefined : `${id}-hint`;
  const refused = faults.length > 0 ? `${id}-fault` : undefined;
  const described = [hinted, refused].filter((each) => each !== undefined).join(" ");
  const name = field.path.join(".");
  const set = (changed: Json | undefined) => {
    draft.touch(name);
    setTyping(name === "timezone" && document.activeElement?.id === id);
    setValue(draft, field.path, changed === undefined && field.staysEmpty === true ? "" : changed);
  };
  const input = {
    id,
    "data-field": name,
    "aria-describedby": described === "" ? undefined : described,
    "aria-invalid": faults.length > 0,
    onBlur: () => setTyping(false),
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === "Enter") setTyping(false);
    },
  };
  return (
    <div className={field.kind === "flag" ? "field flag" : "field"}>
      <label htmlFor={id}>{field.label}</label>
      {isDrawable(field, value) ? (
        drawn(field, { ...input, value, set })
      ) : (
        <input {...input} disabled value="set in the JSON" />
      )}
      <Hint id={hinted}>{field.hint}</Hint>
      {name === "calendar.name" ? <NewCalendar /> : null}
      <Faults id={refused} messages={faults.map(({ message }) => message)} />
      {name === "timezone" && faults.length > 0 && typeof value === "string" ? (
        <Proposals
          texts={[zoneMeant(value)].filter((zone) => zone !== null)}
          onUse={(zone) => {
            set(zone);
            document.getElementById(id)?.focus();
          }}
        />
      ) : null}
    </div>
  );
}

/** Beneath the field: in the field it would look like a value, in the label like a part of its name. */
export function Hint({ id, children }: { id: string | undefined; children: ReactNode }) {
  if (children === undefined) return null;
  return (
    <p id={id} className="hint">
      {children}
    </p>
  );
}

export function Faults({ id, messages }: { id: string | undefined; messages: readonly string[] }) {
  if (messages.length === 0) return null;
  return (
    <div id={id} className="field-fault">
      {[...new Set(messages)].map((message) => (
        <p key={message}>
          <Sentence text={message} />
        </p>
      ))}
    </div>
  );
}

interface Drawn {
  id: string;
  "data-field": string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean;
  onBlur(): void;
  onKeyDown(event: KeyboardEvent): void;
  value: Json | undefined;
  set(value: Json | undefined): void;
}

function isDrawable({ kind }: FormField, value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (kind === "number") return typeof value === "number";
  if (kind === "flag") return typeof value === "boolean";
  if (kind === "texts") return Array.isArray(value) && value.every((each) => typeof each === "string");
  return typeof value === "string";
}

function drawn(field: FormField, { value, set, ...input }: Drawn): ReactNode {
  const byDefault = defaultText(field.path);
  const placeholder = byDefault === "" ? "" : `${byDefault} (default)`;
  switch (field.kind) {
    case "flag":
      return (
        <input
          {...input}
          type="checkbox"
          checked={value === true}
          onChange={(event) => set(event.target.checked ? true : undefined)}
        />
      );
    case "choice":
      return (
        <select
          {...input}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => set(event.target.value || undefined)}
        >
          <option value="">{placeholder === "" ? "default" : placeholder}</option>
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...input}
          type="number"
          min={1}
          placeholder={placeholder}
          value={typeof value === "number" ? value : ""}
          onChange={(event) =>
            set(Number.isNaN(event.target.valueAsNumber) ? undefined : event.target.valueAsNumber)
          }
        />
      );
    case "texts":
      return <TextsInput {...input} value={value} set={set} placeholder={placeholder} />;
    case "suggested":
      return (
        <SuggestedInput {...input} from={field.from} value={value} set={set} placeholder={placeholder} />
      );
    case "text":
      return (
        <input
          {...input}
          className="mono"
          spellCheck={false}
          autoComplete="off"
          placeholder={placeholder}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => set(event.target.value || undefined)}
        />
      );
  }
}

/** The default, which is shown and not written. */
function defaultText(path: readonly string[]): string {
  const value = valueAt(scheduleDefaults, path);
  if (value === undefined) return "";
  return value === null || (Array.isArray(value) && value.length === 0) ? "none" : String(value);
}

/** Texts in one line, separated by commas. They are written when the field is left or at a comma. */
function TextsInput({ value, set, placeholder, ...input }: Drawn & { placeholder: string }) {
  const written = Array.isArray(value) ? value.join(", ") : "";
  const [typed, setTyped] = useState(written);
  useEffect(
    () => setTyped((before) => (textsOf(before).join(", ") === written ? before : written)),
    [written],
  );
  return (
    <input
      {...input}
      spellCheck={false}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => {
        setTyped(event.target.value);
        const texts = textsOf(event.target.value);
        set(texts.length === 0 ? undefined : texts);
      }}
    />
  );
}

const textsOf = (typed: string): string[] =>
  typed
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");

function SuggestedInput({
  from,
  value,
  set,
  placeholder,
  ...input
}: Drawn & { from: "zones" | "calendars"; placeholder: string }) {
  const { carillon } = useSession();
  const calendars = useQuery({ ...calendarsQuery(carillon), enabled: from === "calendars" });
  const names =
    from === "zones"
      ? Intl.supportedValuesOf("timeZone")
      : (calendars.data?.items ?? []).map(({ name }) => name);
  return (
    <>
      <input
        {...input}
        list={`${input.id}-list`}
        spellCheck={false}
        autoComplete="off"
        placeholder={placeholder === "" ? "none" : placeholder}
        value={typeof value === "string" ? value : ""}
        onChange={(event) => set(event.target.value || undefined)}
      />
      <datalist id={`${input.id}-list`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
