import fc from "fast-check";

/** Five-field expressions, with few values so that they are neither all dense nor all sparse. */
export function arbitraryCron(): fc.Arbitrary<string> {
  return fc
    .tuple(
      arbitraryField(0, 59),
      arbitraryField(0, 23),
      fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: arbitraryField(1, 28) }),
      arbitraryMonths(),
      fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: arbitraryField(0, 6) }),
    )
    .map((fields) => fields.join(" "));
}

/** Expressions with days that depend on the month: `L`, `L-3`, `LW`, `15W`, `5L`, `1#2`. */
export function arbitrarySpecialCron(): fc.Arbitrary<string> {
  const number = fc.integer({ min: 1, max: 28 }).map(String);
  const weekday = fc.integer({ min: 0, max: 6 });
  const specialDay = fc.oneof(
    fc.constantFrom("L", "LW", "29W", "1W"),
    fc.integer({ min: 1, max: 27 }).map((days) => `L-${days}`),
    number.map((day) => `${day}W`),
  );
  const specialWeekday = fc.oneof(
    weekday.map((day) => `${day}L`),
    fc.tuple(weekday, fc.integer({ min: 1, max: 4 })).map(([day, nth]) => `${day}#${nth}`),
  );
  const list = (special: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
    fc
      .tuple(special, fc.array(fc.oneof(special, value), { maxLength: 2 }))
      .map(([first, rest]) => [first, ...rest].join(","));
  const days = fc.oneof(
    list(specialDay, number).map((text) => ({ day: text, weekday: "*" })),
    list(specialWeekday, weekday.map(String)).map((text) => ({ day: "*", weekday: text })),
    fc.tuple(specialDay, specialWeekday).map(([day, text]) => ({ day, weekday: text })),
  );
  const hour = fc.integer({ min: 0, max: 23 });
  return fc
    .tuple(hour, days, arbitraryMonths())
    .map(([at, { day, weekday: week }, months]) => `0 ${at} ${day} ${months} ${week}`);
}

/** Expressions that run on days that match both day fields; the `&` is after either of the two. */
export function arbitraryBothCron(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.integer({ min: 0, max: 23 }),
      fc.oneof(arbitraryField(1, 28), fc.constantFrom("1,LW", "L-3", "*/2", "1-31")),
      arbitraryMonths(),
      fc.oneof(arbitraryField(0, 6), fc.constantFrom("1#2,3", "5L", "*/2", "0-6")),
      fc.boolean(),
    )
    .map(([hour, day, months, weekday, isLast]) =>
      isLast ? `0 ${hour} ${day} ${months} ${weekday}&` : `0 ${hour} ${day}& ${months} ${weekday}`,
    );
}

/** Six fields, the second first. */
export function arbitrarySecondCron(): fc.Arbitrary<string> {
  return fc.tuple(arbitraryField(0, 59), arbitraryCron()).map((fields) => fields.join(" "));
}

function arbitraryMonths(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    { weight: 1, arbitrary: arbitraryField(1, 12) },
  );
}

function arbitraryField(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: max - min + 1 });
  const item = fc.oneof(
    value.map(String),
    range,
    fc.tuple(range, step).map(([over, by]) => `${over}/${by}`),
    fc.tuple(value, step).map(([from, by]) => `${from}/${by}`),
    step.map((by) => `*/${by}`),
  );
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant("*") },
    { weight: 3, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(",")) },
  );
}

/** Whole milliseconds from 2010 to 2040, often exactly on a minute. */
export function arbitraryInstant(): fc.Arbitrary<number> {
  const within = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2040, 0, 1) });
  return fc.oneof(
    within,
    within.map((instant) => instant - (instant % 60_000)),
  );
}
