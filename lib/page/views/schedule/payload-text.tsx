import { useMemo } from "react";
import type { Json } from "../../../client/json.ts";
import { numberText } from "../../data/amounts.ts";

/** A text of more lines is folded. */
const openLines = 12;
/** The most characters that are drawn. */
const shownMax = 20_000;

/** A payload as JSON, folded if it is long and cut off if it is very long. */
export function PayloadText({ payload, command }: { payload: Json; command: string }) {
  const text = useMemo(() => JSON.stringify(payload, null, 2), [payload]);
  const lines = text.split("\n").length;
  const shown = <pre className="payload">{text.slice(0, shownMax).toWellFormed()}</pre>;
  const rest =
    text.length <= shownMax ? null : (
      <p className="quiet rest">
        Its first {numberText(shownMax)} of {numberText(text.length)} characters; <code>{command}</code>{" "}
        prints all of them.
      </p>
    );
  if (lines <= openLines && rest === null) return shown;
  return (
    <details className="folded">
      <summary>{numberText(lines)} lines of JSON</summary>
      {shown}
      {rest}
    </details>
  );
}
