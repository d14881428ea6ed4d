import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { forecastQuery } from "../../data/load/load-queries.ts";
import { aheadText, effectText } from "../../data/load/planned-text.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Contributors } from "./contributors.tsx";
import { DayHeat } from "./day-heat.tsx";
import { Estimated } from "./estimated.tsx";
import { HeldLine } from "./held-line.tsx";
import { LoadCurve } from "./load-curve.tsx";
import { LoadHead } from "./load-head.tsx";
import { type LoadSearch, paramsOf, spreads } from "./load-search.ts";
import { MidnightLine } from "./midnight-line.tsx";
import { SpreadSlider } from "./spread-slider.tsx";

/** The coming minutes as a curve, or those of a day as a map; whose they are, and what a spread does. */
export function MinutesLoad({ search }: { search: LoadSearch }) {
  const { carillon } = useSession();
  const navigate = useNavigate({ from: "/load" });
  const forecast = useQuery(forecastQuery(carillon, paramsOf(search)));
  const { data } = forecast;
  return (
    <>
      <LoadHead search={search} seen={forecast} refresh={() => void forecast.refetch()} />
      <AnswerState
        error={forecast.error}
        isPending={forecast.isPending}
        retry={() => void forecast.refetch()}
      />
      {data === undefined ? null : (
        <>
          <SpreadSlider
            choices={spreads}
            value={search.spread}
            onChange={(spread) =>
              void navigate({ search: (before) => ({ ...before, spread }), replace: true })
            }
            isBusy={forecast.isPlaceholderData}
            suggestion={data.suggestion.text}
            heaviest={data.heaviest[0]?.at}
            ahead={aheadText(data.minutes.length)}
            prefix={search.prefix}
            result={
              data.spread === null ? null : effectText(data.suggestion.peak, data.spread.peak, data.exact)
            }
          >
            {data.heaviest[0] === undefined ? null : (
              <HeldLine at={data.heaviest[0].at} prefix={search.prefix} />
            )}
            <MidnightLine forecast={data} prefix={search.prefix} />
          </SpreadSlider>
          {search.view === "day" ? (
            <DayHeat forecast={data} prefix={search.prefix} />
          ) : (
            <LoadCurve forecast={data} prefix={search.prefix} />
          )}
          <Estimated days={data.exact ? 0 : 1} of={1} />
          <Contributors forecast={data} prefix={search.prefix} by={search.by ?? "prefix"} />
        </>
      )}
    </>
  );
}
