/**
 * Sentences that have one of the wordings and are right as they are: quotations, headings of pages,
 * and words in their plain sense.
 */
export const allowed: readonly string[] = [];
