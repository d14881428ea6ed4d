import type { VersionFact } from "./verdict.ts";

interface Moved {
  /** The occurrence, and when it is due. */
  at: number;
  due: number;
  /** The version that planned it. */
  version: VersionFact | undefined;
}

/** `, to which its \`spread\` moves it`: only these two fields move a run from its occurrence. */
export function movedText({ at, due, version }: Moved): string {
  if (due === at) return "";
  return `, to which its ${(version?.body.slot ?? null) === null ? "`spread`" : "`slot`"} moves it`;
}

/** The same, where the sentence goes on behind it. */
export function movedAside(moved: Moved): string {
  const text = movedText(moved);
  return text === "" ? "" : `${text},`;
}
