interface ProposalsProps {
  texts: readonly string[];
  onUse(text: string): void;
}

/** Buttons that write what a fault proposes into its field. */
export function Proposals({ texts, onUse }: ProposalsProps) {
  return [...new Set(texts)].map((text) => (
    <button key={text} type="button" className="button proposal" onClick={() => onUse(text)}>
      Use <code>{text}</code>
    </button>
  ));
}
