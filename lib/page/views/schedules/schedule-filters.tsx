import { useEffect, useState } from "react";
import type { ScheduleSearch } from "./schedule-search.ts";

interface ScheduleFiltersProps {
  search: ScheduleSearch;
  onChange(changed: Partial<ScheduleSearch>): void;
}

/** The pause after the last key before a typed text is searched for. */
const typingMs = 150;

export function ScheduleFilters({ search, onChange }: ScheduleFiltersProps) {
  return (
    <search className="filters">
      <TextFilter
        label="Key begins with"
        placeholder="crm:contact:"
        value={search.prefix}
        onChange={(prefix) => onChange({ prefix })}
      />
      <TextFilter label="Tag" value={search.tag} onChange={(tag) => onChange({ tag })} />
      <TextFilter label="Group" value={search.group} onChange={(group) => onChange({ group })} />
      <TextFilter
        label="Target"
        placeholder="webhook/api.example.com"
        value={search.target}
        onChange={(target) => onChange({ target })}
      />
      <label>
        <span>State</span>
        <select
          value={search.state ?? ""}
          onChange={({ target: { value } }) =>
            onChange({ state: value === "" ? undefined : (value as "active" | "paused" | "ended") })
          }
        >
          <option value="">any</option>
          <option value="active">active</option>
          <option value="paused">on hold</option>
          <option value="ended">ended</option>
        </select>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={search.failing === "true"}
          onChange={({ target: { checked } }) => onChange({ failing: checked ? "true" : undefined })}
        />
        <span>only failing</span>
      </label>
    </search>
  );
}

interface TextFilterProps {
  label: string;
  placeholder?: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
}

function TextFilter({ label, placeholder, value = "", onChange }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed === "" ? undefined : typed), typingMs);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return (
    <label>
      <span>{label}</span>
      <input
        type="text"
        spellCheck={false}
        autoComplete="off"
        placeholder={placeholder}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}
