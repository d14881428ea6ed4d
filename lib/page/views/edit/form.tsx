import type { ReactNode } from "react";
import { isObject, valueAt } from "../../data/document/json-text.ts";
import { useNarrow } from "../../hooks/use-narrow.ts";
import { Panel } from "../../parts/panel.tsx";
import { type Draft, setValue } from "./draft/draft.ts";
import { faultsOf } from "./faults.ts";
import { Faults, Field, Hint } from "./field.tsx";
import {
  type FormField,
  keyField,
  labelFields,
  policyFields,
  targetFields,
  targetHints,
  targetKinds,
  timeFields,
  zoneField,
} from "./form-fields.ts";
import { PayloadField } from "./payload-field.tsx";
import { ScreenZone } from "./screen-zone.tsx";
import { WhenField } from "./when-field.tsx";

interface FormProps {
  draft: Draft;
  /** Whether the text is JSON; if not, the form shows the last reading and changes nothing. */
  isReadable: boolean;
  isNew: boolean;
  /** The server's reading in short, for one column: there the panel with it is a screen below. */
  brief: ReactNode;
}

/**
 * The fields that every schedule needs, on one screen beside the server's reading. The form is a view of
 * the document: it draws the fields that it knows and leaves all others as they are.
 */
export function NeededForm({ draft, isReadable, isNew, brief }: FormProps) {
  const isNarrow = useNarrow();
  return (
    <Panel title="When and where" note="edits the JSON below">
      <fieldset className="form" disabled={!isReadable}>
        {isNew ? <Fields fields={[keyField]} draft={draft} /> : null}
        <WhenField draft={draft} />
        <Fields fields={[zoneField]} draft={draft} />
        {isNew ? <ScreenZone draft={draft} /> : null}
        {isNarrow && brief !== undefined ? <div className="brief-reading">{brief}</div> : null}
        <Section title="Target">
          <TargetFields draft={draft} />
        </Section>
      </fieldset>
    </Panel>
  );
}

/** The payload, the labels, further times and the policies: what has a default. */
export function FurtherForm({ draft, isReadable }: Omit<FormProps, "isNew" | "brief">) {
  return (
    <Panel title="Further fields" note="fields that are not here stay in the JSON">
      <fieldset className="form" disabled={!isReadable}>
        <PayloadField draft={draft} />
        <Section title="Labels">
          <Fields fields={labelFields} draft={draft} />
        </Section>
        <Section title="Times">
          <Fields fields={timeFields} draft={draft} />
        </Section>
        <Section title="Policies">
          <Fields fields={policyFields} draft={draft} />
        </Section>
      </fieldset>
    </Panel>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

function Fields({ fields, draft }: { fields: readonly FormField[]; draft: Draft }) {
  return (
    <div className="fields">
      {fields.map((field) => (
        <Field key={field.path.join(".")} field={field} draft={draft} />
      ))}
    </div>
  );
}

function TargetFields({ draft }: { draft: Draft }) {
  const target = draft.value["target"];
  const kind = isObject(target) ? targetKinds.find((each) => Object.hasOwn(target, each)) : undefined;
  const own = faultsOf(draft.faults, ["target"]).filter(({ path }) => path === "target");
  return (
    <>
      <div className="field">
        <label htmlFor="target-kind">Kind</label>
        <select
          id="target-kind"
          data-field="target"
          aria-describedby={kind === undefined ? undefined : "target-hint"}
          aria-invalid={own.length > 0}
          value={kind ?? ""}
          onChange={(event) => {
            const chosen = targetKinds.find((each) => each === event.target.value);
            if (chosen === undefined) return;
            const isNested = chosen === "event" || chosen === "webhook";
            setValue(draft, ["target"], { [chosen]: isNested ? {} : "" });
          }}
        >
          {kind === undefined ? <option value="">choose one</option> : null}
          {targetKinds.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {kind === undefined ? null : <Hint id="target-hint">{targetHints[kind]}</Hint>}
        <Faults id={undefined} messages={own.map(({ message }) => message)} />
      </div>
      {kind === undefined ? null : <Fields fields={targetFields[kind]} draft={draft} />}
      {kind === "webhook" && valueAt(draft.value, ["target", "webhook", "secret"]) === undefined ? (
        <p className="faint">Headers and the secret of its signature are set in the JSON.</p>
      ) : null}
    </>
  );
}
