import type { Explanation } from "../../client/time.ts";
import { explainedText } from "../data/text/sentence-text.ts";
import { useZone } from "../hooks/use-zone.ts";
import { CopyButton } from "./copy-button.tsx";
import { Sentence } from "./sentence.tsx";

/** Why an occurrence ran or did not, and a button that copies it with its schedule and its date. */
export function Explained({ explanation }: { explanation: Explanation }) {
  const zone = useZone();
  return (
    <p className="sentence">
      <Sentence text={explanation.sentence} of={explanation.key} />{" "}
      <CopyButton text={explainedText(explanation, zone)} label="Copy" />
    </p>
  );
}
