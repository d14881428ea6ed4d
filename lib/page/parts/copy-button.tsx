import { type ReactNode, useEffect, useState } from "react";

const shownMs = 1_500;

interface CopyButtonProps {
  text: string;
  /** Shown on the button in place of the text, where the text is shown beside it or is long. */
  label?: ReactNode;
}

/** Shows a text, and copies it. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <button type="button" className="copy mono" onClick={copy} title={`Copy: ${text}`}>
      {label === undefined ? <span className="hidden">Copy </span> : null}
      {isCopied ? "copied" : (label ?? text)}
    </button>
  );
}
