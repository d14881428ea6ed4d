/** Reads texts from an address; empty ones are left out. */
export function textsIn<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): { [Each in Name]?: string } {
  const found: { [Each in Name]?: string } = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  return found;
}

/** Reads one of some words from an address; another one is left out. */
export function choiceIn<Choice extends string>(
  search: Readonly<Record<string, unknown>>,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  return choices.find((choice) => choice === search[name]);
}
