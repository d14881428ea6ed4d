import type { Preview } from "../../../client/time.ts";

interface WordsProps {
  /** The server's reading of the edited text. */
  preview: Pick<Preview, "cadence" | "cadenceText" | "warnings">;
  /** Whether the text is another one by now. Its reading is awaited, so this one is not taken for it. */
  isOfEarlierText: boolean;
}

/** The server's reading of `when` in words, and what may surprise in it. */
export function Words({ preview, isOfEarlierText }: WordsProps) {
  return (
    <>
      <p className={isOfEarlierText ? "sentence earlier" : "sentence"}>
        {isOfEarlierText ? "was: " : ""}
        {preview.cadenceText}{" "}
        {isOfEarlierText ? (
          <span className="checking">checking …</span>
        ) : (
          <code className="faint whole">{preview.cadence}</code>
        )}
      </p>
      {preview.warnings.map((warning) => (
        <p key={warning} className="notice warning">
          <b aria-hidden="true">△</b> {warning}
        </p>
      ))}
    </>
  );
}
