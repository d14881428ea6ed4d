/** Nothing is planned further ahead than this, and no period is longer: 100 years of 365.25 days. */
export const FURTHEST_MS = 36_525 * 86_400_000;

/** An `at` this little past still runs, at once; earlier ones are refused. */
export const PAST_GRACE_MS = 60_000;

export const EXPRESSION_LENGTH_MAX = 256;

export const INTERVAL_MIN_MS = 1_000;

/** A `when` that is a list has at most so many entries. */
export const WHENS_MAX = 20;

/** What a list means is stored as one text, by which equal ones are found: the index of a database takes no longer entries. */
export const MEANING_LENGTH_MAX = 2_000;
