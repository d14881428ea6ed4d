import "../look/chips.css";

interface FilterChipsProps {
  /** The filters that no field shows: their label, their text, and how to drop them. */
  chips: readonly { label: string; text: string | undefined; drop(): void }[];
}

/** Filters that come from a link and have no field of their own. */
export function FilterChips({ chips }: FilterChipsProps) {
  const given = chips.filter(({ text }) => text !== undefined);
  if (given.length === 0) return null;
  return (
    <ul className="chips" aria-label="Further filters">
      {given.map(({ label, text, drop }) => (
        <li key={label}>
          <span className="quiet">{label}</span> <span className="mono">{text}</span>
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
