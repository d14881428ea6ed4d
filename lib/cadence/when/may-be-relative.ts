/**
 * Whether the text may count from now: its first word decides. A text that is refused later does
 * not matter.
 */
export function mayBeRelative(when: string | readonly string[]): boolean {
  return (typeof when === "string" ? [when] : when).some((text) => /^[ \t]*in(?![A-Za-z])/i.test(text));
}
