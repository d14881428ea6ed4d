/** The fields of a schedule that decide when it runs. */
export const timeFields: ReadonlySet<string> = new Set([
  "when",
  "timezone",
  "startsAt",
  "endsAt",
  "maxFires",
  "calendar",
  "spread",
  "slot",
  "dst",
]);
