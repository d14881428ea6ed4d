import type { Preview } from "../../../client/time.ts";

interface WordsProps {
  /** The server's reading of the edited text. */
  preview: Pick<Preview, "cadence" | "cadenceText" | "warnings">;
}

/** The server's reading of `when` in words, and what may surprise in it. */
export function Words({ preview }: WordsProps) {
  return (
    <>
      <p className="sentence">
        {preview.cadenceText} <code className="faint">{preview.cadence}</code>
      </p>
      {preview.warnings.map((warning) => (
        <p key={warning} className="notice warning">
          <b aria-hidden="true">△</b> {warning}
        </p>
      ))}
    </>
  );
}
