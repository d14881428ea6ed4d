/** Several ids in backticks, then the reason and what to do in parentheses. */
const form = /^Replaces: ((?:`\w+`, )*`\w+`) \(\S+(?: \S+)+\)\.?$/;

/**
 * The logical ids that the changelog's section "Unreleased" says are replaced. A line that begins with
 * `Replaces:` and has another form is refused.
 */
export function namedReplacements(changelog: string): string[] {
  const unreleased = changelog.split(/^## /m).find((section) => section.startsWith("Unreleased\n")) ?? "";
  const items = [...unreleased.matchAll(/^- (Replaces:.*(?:\n {2}\S.*)*)/gm)];
  return items.flatMap(([, text = ""]) => {
    const item = text.replaceAll(/\s+/g, " ");
    const [, ids] = item.match(form) ?? [];
    if (ids !== undefined) return [...ids.matchAll(/\w+/g)].map(([id]) => id);
    throw new Error(`This line must have the form "Replaces: \`Id\`, \`Id\` (reason, what to do)": ${item}`);
  });
}
