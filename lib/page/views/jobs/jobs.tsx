import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { errorGroupsQuery, jobsQuery } from "../../data/job-queries.ts";
import { moreOf } from "../../data/more.ts";
import { filterLabels } from "../../data/text/filter-words.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { FilterChips } from "../../parts/filter-chips.tsx";
import { ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { EntryText } from "./entry-text.tsx";
import { ErrorGroups } from "./error-groups.tsx";
import { useErrorText } from "./error-text.ts";
import { JobCount } from "./job-count.tsx";
import { JobExport } from "./job-export.tsx";
import { filterOf, type JobSearch, readJobSearch, retryFilterOf, stateWords } from "./job-search.ts";
import { JobTable } from "./job-table.tsx";
import { RetryAll } from "./retry-all.tsx";
import { StatesOfEntries } from "./states-of-entries.tsx";
import "../../look/tables.css";

/** Filters of links, which have no field. */
const unseen = [
  { name: "errorGroup", label: "error group" },
  { name: "key", label: "key" },
  { name: "reason", label: "reason" },
  { name: "from", label: "from" },
  { name: "to", label: "to" },
  { name: "entry", label: "jobs that were" },
] as const;

const groupsRefreshMs = 15_000;

export function Jobs() {
  const { carillon } = useSession();
  const search = readJobSearch(useSearch({ from: "/jobs" }));
  const navigate = useNavigate({ from: "/jobs" });
  const pages = useInfiniteQuery({
    ...jobsQuery(carillon, filterOf(search)),
    refetchInterval: useListRefresh(),
  });
  const { state, prefix, tag, group, target, entry, errorGroup } = search;
  const groups = useErrorGroups(search);
  const jobs = pages.data?.pages.flatMap(({ items }) => items);
  const errorText = useErrorText(errorGroup, { groups, jobs });
  const [retried, setRetried] = useState<readonly string[]>([]);
  const followed = entry === undefined ? retried : entry.split(",");
  const change = (changed: Partial<JobSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Jobs</h1>
        <JobCount filter={filterOf(search)} order={orderText(search)} />
        <ListFreshness pages={pages} />
        <span className="actions">
          {entry === undefined && (state === "dead" || state === "cancelled") ? (
            <RetryAll
              filter={retryFilterOf(search)}
              isNone={jobs?.length === 0 && !pages.hasNextPage}
              retried={retried}
              onRetried={setRetried}
            />
          ) : null}
          <JobExport filter={filterOf(search)} />
        </span>
      </header>
      <search className="filters">
        <ChoiceFilter
          label={filterLabels.state}
          choices={stateWords}
          value={state}
          onChange={(chosen) => change({ state: chosen, errorGroup: undefined })}
        />
        <TextFilter
          label={filterLabels.prefix}
          value={prefix}
          onChange={(text) => change({ prefix: text })}
        />
        {entry === undefined ? (
          <>
            <TextFilter label={filterLabels.tag} value={tag} onChange={(text) => change({ tag: text })} />
            <TextFilter
              label={filterLabels.group}
              value={group}
              onChange={(text) => change({ group: text })}
            />
            <TextFilter
              label={filterLabels.target}
              value={target}
              onChange={(text) => change({ target: text })}
            />
            <TextFilter
              label={filterLabels.lateBy}
              placeholder="e.g. 5m"
              value={search.lateBy}
              onChange={(text) => change({ lateBy: text })}
            />
          </>
        ) : null}
      </search>
      <FilterChips
        chips={unseen.map(({ name, label }) => ({
          label,
          text: name === "errorGroup" ? errorText : search[name],
          words: name === "entry" ? <EntryText entries={followed} /> : undefined,
          drop: () => change({ [name]: undefined }),
        }))}
      />
      {followed.length === 0 ? null : (
        <StatesOfEntries entries={followed} chosen={entry === undefined ? undefined : state} />
      )}
      {groups === undefined ? null : (
        <ErrorGroups
          groups={groups}
          isChosen={errorGroup !== undefined}
          onChoose={(chosen) => change({ errorGroup: chosen })}
        />
      )}
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {jobs === undefined ? null : <JobTable jobs={jobs} {...moreOf(pages)} />}
    </>
  );
}

function orderText({ state, entry }: JobSearch): string | null {
  if (entry !== undefined) return null;
  return state === "dead" ? "the latest deaths first" : "the newest occurrences first";
}

/** The errors of the dead jobs of a search, or the chosen ones; undefined until known, and for other jobs. */
function useErrorGroups({ state, prefix, key, tag, group, target, from, to, entry, errorGroup }: JobSearch) {
  const { carillon } = useSession();
  const enabled = state === "dead" && entry === undefined;
  const { data, isPlaceholderData } = useQuery({
    ...errorGroupsQuery(carillon, { prefix, key, tag, group, target, from, to, errorGroup }),
    enabled,
    refetchInterval: useRefreshMs(groupsRefreshMs),
    // The chosen one is in the panel already.
    placeholderData: (before) => before,
  });
  if (!enabled || data === undefined) return undefined;
  if (errorGroup === undefined) return data.items;
  const chosen = errorGroup.split(",");
  const items = data.items.filter((each) => each.errorGroup !== null && chosen.includes(each.errorGroup));
  return isPlaceholderData && items.length === 0 ? undefined : items;
}
