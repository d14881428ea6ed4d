import { useMemo } from "react";
import { withText } from "../../data/document/json-text.ts";
import { JsonEditor } from "../../parts/json-editor.tsx";
import type { Draft } from "./draft/draft.ts";
import { indented, parses, shownPayload, writtenPayload } from "./draft/payload-text.ts";
import { faultsOf } from "./faults.ts";
import { Faults, Hint } from "./field.tsx";

/** The payload by itself. A text that is not JSON yet is kept beside the document and written when it is. */
export function PayloadField({ draft }: { draft: Draft }) {
  const { written, shown, isJson } = shownPayload(draft.text, draft.payload);
  const faults = faultsOf(draft.faults, ["payload"]);
  const marks = useMemo(() => [], []);
  const change = (changed: string) => {
    if (changed === shown) return;
    const isEmpty = changed.trim() === "";
    if (!isEmpty && !parses(changed)) {
      draft.typePayload({ over: written, text: changed });
      return;
    }
    const whole = withText(draft.text, ["payload"], isEmpty ? undefined : indented(changed.trim()));
    draft.typePayload({ over: writtenPayload(whole), text: changed });
    draft.change(whole);
  };
  return (
    <fieldset>
      <legend>Payload</legend>
      <JsonEditor name="payload" label="Payload, JSON" text={shown} marks={marks} onChange={change} />
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
