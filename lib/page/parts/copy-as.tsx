import { useEffect, useState } from "react";
import "../look/copy-as.css";

const shownMs = 1_500;

interface CopyAsProps {
  /** The same as `carillon …`. */
  carillon: string;
  /** The same as `curl …`. */
  curl: string;
}

/** Commands that do the same as the view, to be copied into a shell. */
export function CopyAs({ carillon, curl }: CopyAsProps) {
  const [copied, setCopied] = useState<string | null>(null);
  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), shownMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (name: string, text: string) =>
    void navigator.clipboard.writeText(text).then(() => setCopied(name));
  return (
    <fieldset className="copy-as">
      <legend className="hidden">Copy as a command</legend>
      <button type="button" className="button" title={carillon} onClick={() => copy("carillon", carillon)}>
        Copy as <code>carillon …</code>
      </button>
      <button type="button" className="button" title={curl} onClick={() => copy("curl", curl)}>
        Copy as <code>curl …</code>
      </button>
      <span role="status" className="quiet">
        {copied === null ? "" : `copied as ${copied}`}
      </span>
    </fieldset>
  );
}
