import type { ReactNode } from "react";
import { Instant } from "./time/instant.tsx";
import "../look/chips.css";

interface FilterChipsProps {
  /** The filters that no field shows: their label, their text or other words for it, and how to drop them. */
  chips: readonly { label: string; text: string | undefined; words?: ReactNode; drop(): void }[];
}

/** Filters that come from a link and have no field of their own. */
export function FilterChips({ chips }: FilterChipsProps) {
  const given = chips.filter(({ text }) => text !== undefined);
  if (given.length === 0) return null;
  return (
    <ul className="chips" aria-label="Further filters">
      {given.map(({ label, text, words, drop }) => (
        <li key={label}>
          <span className="quiet">{label}</span> {words ?? <ChipText text={text ?? ""} />}
          <button
            type="button"
            className="text-button"
            aria-label={`Drop the filter ${label}`}
            onClick={drop}
          >
            drop
          </button>
        </li>
      ))}
    </ul>
  );
}

const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** An instant is shown in the zone of the screen; an address may also have a text such as `2026-13-01T00:00Z`. */
function ChipText({ text }: { text: string }) {
  const isInstant = instant.test(text) && !Number.isNaN(Date.parse(text));
  return isInstant ? <Instant at={text} as="exact" /> : <span className="mono">{text}</span>;
}
