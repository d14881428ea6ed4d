/** The limit for planning ahead and for the length of a period: 100 years of 365.25 days. */
export const FURTHEST_MS = 36_525 * 86_400_000;

/** An `at` that is past by at most this still runs, at once. An earlier one is refused. */
export const PAST_GRACE_MS = 60_000;

export const EXPRESSION_LENGTH_MAX = 256;

export const INTERVAL_MIN_MS = 1_000;

/** The largest number of entries of a `when` that is a list. */
export const WHENS_MAX = 20;

/**
 * The limit of the text that stores a list. Equal lists are found by an index on this text, and
 * entries of a database index are limited in size.
 */
export const MEANING_LENGTH_MAX = 2_000;
