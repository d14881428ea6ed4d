interface SpreadSliderProps<Spread extends string> {
  choices: readonly Spread[];
  value: Spread | undefined;
  onChange(spread: Spread | undefined): void;
  /** The server computes another forecast; the result is that of the one before. */
  isBusy: boolean;
  /** The effect of the chosen spread. */
  result: string | null;
}

/** Tries one spread for all these schedules. The server computes the curve. */
export function SpreadSlider<Spread extends string>({
  choices,
  value,
  onChange,
  isBusy,
  result,
}: SpreadSliderProps<Spread>) {
  const place = value === undefined ? 0 : choices.indexOf(value) + 1;
  return (
    <section className="panel what-if" aria-label="What if">
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
      <output htmlFor="spread" aria-busy={isBusy}>
        {isBusy
          ? "The server computes the forecast; the curve is still the one before."
          : result === null
            ? "Move the slider to see the effect."
            : `With a spread of ${value}, ${result}.`}
      </output>
    </section>
  );
}
