/**
 * The names that the changelog's section "Unreleased" lists in lines of the form "Replaces: `Id`, `Id` (reason,
 * what to do)", or with another first word. A line that begins with the word and has another form is refused.
 */
export function namedInChangelog(changelog: string, word: "Replaces" | "Breaks"): string[] {
  const form = new RegExp(`^${word}: ((?:\`[^\`]+\`, )*\`[^\`]+\`) \\(\\S+(?: \\S+)+\\)\\.?$`);
  const unreleased = changelog.split(/^## /m).find((section) => section.startsWith("Unreleased\n")) ?? "";
  const items = [...unreleased.matchAll(new RegExp(`^- (${word}:.*(?:\\n {2}\\S.*)*)`, "gm"))];
  return items.flatMap(([, text = ""]) => {
    const item = text.replaceAll(/\s+/g, " ");
    const [, ids] = item.match(form) ?? [];
    if (ids !== undefined) return [...ids.matchAll(/[^`]+(?=`(?:,|$))/g)].map(([id]) => id);
    throw new Error(`This line must have the form "${word}: \`Id\`, \`Id\` (reason, what to do)": ${item}`);
  });
}
