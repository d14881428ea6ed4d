import { filterLabels } from "../../data/text/filter-words.ts";
import { CheckFilter, ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { type ScheduleSearch, stateWords } from "./schedule-search.ts";

interface ScheduleFiltersProps {
  search: ScheduleSearch;
  onChange(changed: Partial<ScheduleSearch>): void;
}

export function ScheduleFilters({ search, onChange }: ScheduleFiltersProps) {
  return (
    <search className="filters">
      <TextFilter
        label={filterLabels.prefix}
        placeholder="e.g. crm:contact:"
        value={search.prefix}
        onChange={(prefix) => onChange({ prefix })}
      />
      <TextFilter label={filterLabels.tag} value={search.tag} onChange={(tag) => onChange({ tag })} />
      <TextFilter label={filterLabels.group} value={search.group} onChange={(group) => onChange({ group })} />
      <TextFilter
        label={filterLabels.target}
        placeholder="e.g. queue/orders"
        value={search.target}
        onChange={(target) => onChange({ target })}
      />
      <TextFilter
        label={filterLabels.calendar}
        value={search.calendar}
        onChange={(calendar) => onChange({ calendar })}
      />
      <ChoiceFilter
        label={filterLabels.state}
        choices={stateWords}
        value={search.state}
        onChange={(state) => onChange({ state })}
      />
      <CheckFilter
        label="only failing"
        checked={search.failing === "true"}
        onChange={(checked) => onChange({ failing: checked ? "true" : undefined })}
      />
    </search>
  );
}
