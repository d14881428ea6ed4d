import { type ReactNode, useEffect, useState } from "react";
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
  /** The time that is looked at: `the next day`. */
  ahead: string;
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
  ahead,
  prefix,
  children,
}: SpreadSliderProps<Spread>) {
  return (
    <section className="panel what-if" aria-label="What if">
      {/* Above the sentences, whose length differs with its place: it stays beneath the pointer. */}
      <Slider choices={choices} value={value} onChange={onChange} />
      <p className="lead">
        {heaviest === undefined ? null : (
          <>
            In {ahead} the heaviest minute is <PlannedMinute at={heaviest} prefix={prefix} />.{" "}
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
    </section>
  );
}

function Slider<Spread extends string>({
  choices,
  value,
  onChange,
}: Pick<SpreadSliderProps<Spread>, "choices" | "value" | "onChange">) {
  const asked = value === undefined ? 0 : choices.indexOf(value) + 1;
  // The address follows a moment later, and a thumb that waits for it jumps back meanwhile.
  const [place, setPlace] = useState(asked);
  useEffect(() => setPlace(asked), [asked]);
  const move = (to: number) => {
    setPlace(to);
    onChange(choices[to - 1]);
  };
  const chosen = choices[place - 1];
  return (
    <>
      <label htmlFor="spread">
        What if runs at the same time were spread?{" "}
        <b>{chosen === undefined ? "no spread" : `over ${chosen}`}</b>
      </label>
      <div className="spread-scale">
        <input
          id="spread"
          type="range"
          min={0}
          max={choices.length}
          value={place}
          aria-valuetext={chosen ?? "no spread"}
          onChange={(event) => move(Number(event.target.value))}
        />
        <ol>
          {["0", ...choices].map((text, at) => (
            <li key={text} style={{ left: `${(at / choices.length) * 100}%` }}>
              <button
                type="button"
                aria-pressed={at === place}
                aria-label={at === 0 ? "0, no spread" : `a spread of ${text}`}
                onClick={() => move(at)}
              >
                {text}
              </button>
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}
