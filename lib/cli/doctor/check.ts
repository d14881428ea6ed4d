/** One thing that `carillon doctor` looked at. */
export interface Check {
  name: string;
  /** `none`: it does not apply here, or could not be looked at. */
  state: "good" | "wrong" | "none";
  /** The finding, and the remedy. */
  text: string;
}

/** The mark of a line with a check, because modules of the app may print, too. */
export const checkMark = "carillon-check ";

/** The checks among the lines that the program of carillon-dev printed. */
export function checksIn(printed: string): Check[] {
  return printed.split("\n").flatMap((line) => {
    if (!line.startsWith(checkMark)) return [];
    const { name, state, text }: Partial<Check> = JSON.parse(line.slice(checkMark.length));
    return name === undefined || state === undefined || text === undefined ? [] : [{ name, state, text }];
  });
}
