import fc from "fast-check";

/** Expressions of every shape that the grammar has, with few values so that they are neither all dense nor all sparse. */
export function arbitraryCron(): fc.Arbitrary<string> {
  return fc
    .tuple(
      arbitraryField(0, 59),
      arbitraryField(0, 23),
      fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: arbitraryField(1, 28) }),
      fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: arbitraryField(1, 12) }),
      fc.oneof({ weight: 2, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: arbitraryField(0, 6) }),
    )
    .map((fields) => fields.join(" "));
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

/** Whole milliseconds from 2010 to 2040, often right on a minute. */
export function arbitraryInstant(): fc.Arbitrary<number> {
  const within = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2040, 0, 1) });
  return fc.oneof(
    within,
    within.map((instant) => instant - (instant % 60_000)),
  );
}
