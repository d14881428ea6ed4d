import { useMemo, useState } from "react";
import { textAt, withText } from "../../data/document/json-text.ts";
import { JsonEditor } from "../../parts/json-editor.tsx";
import type { Draft } from "./draft.ts";
import { faultsOf } from "./faults.ts";
import { Faults, Hint } from "./field.tsx";

/** The payload by itself. A text that is not JSON yet is kept here and written when it is. */
export function PayloadField({ draft }: { draft: Draft }) {
  const written = outdented(textAt(draft.text, ["payload"]) ?? "");
  const [typed, setTyped] = useState({ over: written, text: written });
  const text = typed.over === written ? typed.text : written;
  const isJson = text.trim() === "" || parses(text);
  const faults = faultsOf(draft.faults, ["payload"]);
  const marks = useMemo(() => [], []);
  const change = (changed: string) => {
    if (changed === text) return;
    const isEmpty = changed.trim() === "";
    if (!isEmpty && !parses(changed)) {
      setTyped({ over: written, text: changed });
      return;
    }
    const whole = withText(draft.text, ["payload"], isEmpty ? undefined : indented(changed.trim()));
    setTyped({ over: outdented(textAt(whole, ["payload"]) ?? ""), text: changed });
    draft.change(whole);
  };
  return (
    <fieldset>
      <legend>Payload</legend>
      <JsonEditor label="Payload, JSON" text={text} marks={marks} onChange={change} />
      <Hint id={undefined}>JSON; empty for null</Hint>
      <Faults
        id={undefined}
        messages={[
          ...(isJson ? [] : ["is not JSON yet, and so is not written"]),
          ...faults.map(({ path, message }) => (path === "payload" ? message : `${path} ${message}`)),
        ]}
      />
    </fieldset>
  );
}

/** The payload is a member of the document, so its lines are indented there. No JSON string has a line break. */
const indented = (text: string) => text.replaceAll("\n", "\n  ");

function outdented(text: string): string {
  const [, last = ""] = /\n([^\S\n]*)[^\n]*$/.exec(text) ?? [];
  return text.replaceAll(`\n${last}`, "\n");
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
