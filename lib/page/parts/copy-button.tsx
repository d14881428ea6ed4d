import { useEffect, useState } from "react";

const shownMs = 1_500;

/** Shows a text, and copies it. */
export function CopyButton({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <button type="button" className="copy mono" onClick={copy} title={`Copy: ${text}`}>
      <span className="hidden">Copy </span>
      {isCopied ? "copied" : text}
    </button>
  );
}
