import { Fragment, useId, useRef } from "react";
import { isObject } from "../../data/document/json-text.ts";
import { type Draft, setValue } from "./draft/draft.ts";
import { faultsOf, placedFault, proposedWhen } from "./faults.ts";
import { Faults, Hint } from "./field.tsx";
import { whenField } from "./obstacle.ts";
import { Proposals } from "./proposals.tsx";

/** The expressions of `when`, each with the place of its fault drawn under it. */
export function WhenField({ draft }: { draft: Draft }) {
  const when = draft.value["when"];
  const whens = typeof when === "string" ? [when] : Array.isArray(when) ? when : [];
  const isDrawable =
    (when === undefined || !isObject(when)) && whens.every((each) => typeof each === "string");
  if (!isDrawable)
    return (
      <p className="quiet">
        <code>when</code> is set in the JSON.
      </p>
    );
  const texts = whens.length === 0 ? [""] : whens.map(String);
  const write = (changed: readonly string[]) => {
    const [only = ""] = changed;
    draft.touch("when");
    setValue(draft, ["when"], changed.length === 1 ? only : [...changed]);
  };
  const whole = faultsOf(draft.faults, ["when"]).filter(({ path }) => path === "when");
  return (
    <div className="whens">
      {texts.map((text, place) => (
        <OneWhen
          // biome-ignore lint/suspicious/noArrayIndexKey: an expression has no other name than its place.
          key={place}
          name={whenField(place)}
          label={texts.length === 1 ? "When" : `When, expression ${place + 1}`}
          text={text}
          isMissing={text === "" && draft.touched.has(whenField(place))}
          messages={[
            ...(texts.length === 1 ? whole : []),
            ...draft.faults.filter(({ path }) => path === `when[${place}]`),
          ].map(({ message }) => message)}
          onChange={(changed) => write(texts.with(place, changed))}
          onRemove={texts.length === 1 ? null : () => write(texts.toSpliced(place, 1))}
        />
      ))}
      {texts.length === 1 ? null : <Faults id={undefined} messages={whole.map(({ message }) => message)} />}
      <button type="button" className="button" onClick={() => write([...texts, ""])}>
        Add another expression
      </button>
    </div>
  );
}

const examples = ["0 9 * * 1-5", "every 5m", "in 3h", "at 2026-12-01T09:00"];

interface OneWhenProps {
  name: string;
  label: string;
  text: string;
  isMissing: boolean;
  messages: readonly string[];
  onChange(text: string): void;
  onRemove: (() => void) | null;
}

function OneWhen({ name, label, text, isMissing, messages, onChange, onRemove }: OneWhenProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const faults = text === "" ? [] : messages.map(placedFault);
  const words = isMissing ? ["Write when it runs."] : faults.map((fault) => fault.words);
  const proposed = text === "" ? [] : messages.flatMap((message) => proposedWhen(text, message) ?? []);
  const position = faults.find((fault) => fault.position !== null)?.position ?? null;
  return (
    <div className="field when">
      <label htmlFor={id}>{label}</label>
      <div className="when-line">
        <input
          ref={input}
          id={id}
          data-field={name}
          className="mono"
          spellCheck={false}
          autoComplete="off"
          aria-describedby={words.length > 0 ? `${id}-hint ${id}-fault` : `${id}-hint`}
          aria-invalid={words.length > 0}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
        {onRemove === null ? null : (
          <button type="button" className="button" aria-label={`Remove: ${text}`} onClick={onRemove}>
            Remove
          </button>
        )}
      </div>
      {position === null ? null : (
        <pre className="fault-place" aria-hidden="true">
          {`${" ".repeat(position)}^`}
        </pre>
      )}
      <Hint id={`${id}-hint`}>
        e.g.{" "}
        {examples.map((each, place) => (
          <Fragment key={each}>
            {place === 0 ? "" : ", "}
            <code className="whole">{each}</code>
          </Fragment>
        ))}
      </Hint>
      <Faults id={`${id}-fault`} messages={words} />
      <Proposals
        texts={proposed}
        onUse={(each) => {
          onChange(each);
          input.current?.focus();
        }}
      />
    </div>
  );
}
