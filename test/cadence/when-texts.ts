import fc from "fast-check";

/** One valid text of each form. */
export const written = [
  "at 2026-12-01T09:00:00+01:00",
  "at(2027-03-28T02:30)",
  "@at 1800000000",
  "in 1 hour 30 minutes",
  "every 1h30m",
  "every 2 weeks",
  "every P1Y6M",
  "every PT1H30M",
  "rate(5 minutes)",
  "@daily",
  "*/15 9-17 * * mon-fri",
  "H(0-29)/10 H 1,15 * *",
  "0 0 L-3,15W,LW * 5L,1#2",
  "30 0 9 ? jan-mar 1",
  "cron(0/15 8-17 ? * 6L 2027-2199)",
];

const pieces = [
  "at",
  "in",
  "every",
  "cron(",
  "H(",
  "0",
  "59",
  "*",
  "*/5",
  "1-5",
  "mon",
  "L",
  "W",
  "#",
  "PT",
  "P1M",
  "(",
  ")",
  " ",
  "\t",
  ",",
  "-",
  "/",
  "|",
  "T",
  "Z",
  "é",
  "\u0000",
];

/** A valid text with a few of its characters left out, doubled or replaced. */
export function arbitraryMutant(): fc.Arbitrary<string> {
  const edit = fc.tuple(
    fc.nat(40),
    fc.nat(3),
    fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })),
  );
  return fc
    .tuple(fc.constantFrom(...written), fc.array(edit, { maxLength: 4 }))
    .map(([text, edits]) =>
      edits.reduce(
        (edited, [at, length, piece]) => edited.slice(0, at) + piece + edited.slice(at + length),
        text,
      ),
    );
}

/** The longest possible texts, made of the parts that cost most to read. */
export function arbitraryMonster(): fc.Arbitrary<string> {
  const item = fc.constantFrom(
    "H,",
    "H(0-59)/1,",
    "*/1,",
    "15W,",
    "L-30,",
    "0#5,",
    "1-59/2,",
    "1,",
    "(",
    "P1",
    "9",
    "every ",
  );
  const tail = fc.constantFrom(
    "0 * * * *",
    "2 29 2 0#5",
    " 30 2 *",
    "H H 29 2 *",
    ") 0 ? 2 1#5 2199)",
    " 29 2 ? 2100-2199)",
  );
  const head = fc.constantFrom("", "cron(", "0 ", "0 0 ", "every ", "at(", "rate(");
  return fc.tuple(head, item, fc.nat(256), tail).map(([first, each, count, last]) => {
    const room = Math.max(0, 256 - first.length - last.length);
    return first + each.repeat(count).slice(0, room) + last;
  });
}

/** The zones in which the texts are read. */
export const zone = fc.constantFrom(
  "UTC",
  "Europe/Berlin",
  "America/Santiago",
  "Pacific/Apia",
  "Africa/Casablanca",
);
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(" ")),
  fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join("")),
  arbitraryMutant(),
  arbitraryMonster(),
);
/** Values that a caller may send as `when`: mostly a text, sometimes a list. */
export const whens = fc.oneof(
  { weight: 9, arbitrary: text },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 25 }) },
);
