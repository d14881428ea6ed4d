/**
 * Characters that begin a line, control a terminal, or hide or reorder the text around them: texts that
 * callers have written may have any.
 */
export const unprintable: RegExp = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
