import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useSession } from "../../app/session-context.ts";
import { numberText } from "../../data/amounts.ts";
import { forecastQuery } from "../../data/load-queries.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { Freshness } from "../../parts/freshness.tsx";
import { Contributors } from "./contributors.tsx";
import { LoadCurve } from "./load-curve.tsx";
import { byWords, type LoadSearch, paramsOf, readLoadSearch, spreads } from "./load-search.ts";
import { SpreadSlider } from "./spread-slider.tsx";
import "../../look/load.css";

/** When it will be busy, of which schedules, and by how much a spread flattens it. */
export function Load() {
  const { carillon } = useSession();
  const search = readLoadSearch(useSearch({ from: "/load" }));
  const navigate = useNavigate({ from: "/load" });
  const forecast = useQuery(forecastQuery(carillon, paramsOf(search)));
  const change = (changed: Partial<LoadSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  const { data } = forecast;
  return (
    <>
      <header className="title">
        <h1>Load</h1>
        {data === undefined ? null : <p className="quiet">{data.suggestion.text}</p>}
        <Freshness at={forecast.dataUpdatedAt} refresh={() => void forecast.refetch()} />
      </header>
      <search className="filters">
        <ChoiceFilter
          label="Ahead"
          none="4 hours"
          choices={[
            ["60", "1 hour"],
            ["1440", "1 day"],
          ]}
          value={search.minutes}
          onChange={(minutes) => change({ minutes })}
        />
        <ChoiceFilter
          label="By"
          none="prefix"
          choices={byWords}
          value={search.by}
          onChange={(by) => change({ by })}
        />
        <TextFilter label="Key begins with" value={search.prefix} onChange={(prefix) => change({ prefix })} />
      </search>
      <AnswerState
        error={forecast.error}
        isPending={forecast.isPending}
        retry={() => void forecast.refetch()}
      />
      {data === undefined ? null : (
        <>
          <LoadCurve forecast={data} />
          <SpreadSlider
            choices={spreads}
            value={search.spread}
            onChange={(spread) => change({ spread })}
            result={
              data.spread === null
                ? null
                : `the busiest minute has ${numberText(data.spread.peak)} runs instead of ${numberText(data.suggestion.peak)}`
            }
          />
          <Contributors forecast={data} prefix={search.prefix} />
        </>
      )}
    </>
  );
}
