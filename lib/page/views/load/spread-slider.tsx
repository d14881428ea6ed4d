import type { ReactNode } from "react";
import { PlannedMinute } from "./planned-minute.tsx";

interface SpreadSliderProps<Spread extends string> {
  choices: readonly Spread[];
  value: Spread | undefined;
  onChange(spread: Spread | undefined): void;
  /** The server computes another forecast; the result is that of the one before. */
  isBusy: boolean;
  /** The server's sentence about the heaviest minute and the best spread. */
  suggestion: string;
  /** The effect of the chosen spread. */
  result: string | null;
  /** The heaviest minute. */
  heaviest: string | undefined;
  /** The schedules that are looked at. */
  prefix: string | undefined;
  /** The load around midnight. */
  children: ReactNode;
}

/** One sentence: the heaviest minute, and with a chosen spread its effect, as the server computes it. */
export function SpreadSlider<Spread extends string>({
  choices,
  value,
  onChange,
  isBusy,
  suggestion,
  result,
  heaviest,
  prefix,
  children,
}: SpreadSliderProps<Spread>) {
  const place = value === undefined ? 0 : choices.indexOf(value) + 1;
  return (
    <section className="panel what-if" aria-label="What if">
      <p className="lead">
        {heaviest === undefined ? null : (
          <>
            <PlannedMinute at={heaviest} prefix={prefix} /> ·{" "}
          </>
        )}
        <output htmlFor="spread" aria-busy={isBusy}>
          {isBusy
            ? "The server computes the forecast; the curve is still the one before."
            : result === null
              ? suggestion
              : `With a spread of ${value}, ${result}.`}
        </output>
      </p>
      {children}
      <label htmlFor="spread">
        {value === undefined ? (
          "What if their runs were spread?"
        ) : (
          <>
            What if their runs were spread over <b>{value}</b>?
          </>
        )}
      </label>
      <input
        id="spread"
        type="range"
        min={0}
        max={choices.length}
        value={place}
        aria-valuetext={value ?? "no spread"}
        onChange={(event) => onChange(choices[Number(event.target.value) - 1])}
      />
    </section>
  );
}
