/**
 * The condition that every event of a `PutEvents` has one of these sources, where an entry may end in
 * `*`. A request has up to ten events, and `events:source` the sources of all of them, so it takes an
 * operator for sets: without one, a single right event could admit others. An empty set fulfils
 * `ForAllValues`, so the key has to be there.
 */
export function eventsOfSources(sources: readonly string[]): Record<string, Record<string, unknown>> {
  return {
    "ForAllValues:StringLike": { "events:source": [...sources] },
    Null: { "events:source": "false" },
  };
}
