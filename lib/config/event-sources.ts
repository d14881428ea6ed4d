import type { Environment } from "./environment.ts";

/** The sources of events that schedules may use in a deployment that names none. */
export const eventSourcesByDefault: readonly string[] = ["carillon"];

/** A source, or the beginning of sources with `*` behind it. IAM compares it in the same way. */
export const eventSourceForm: RegExp = /^(?!aws\.)\w[\w.:/@-]{0,254}\*?$/i;

export const eventSourcesTakes =
  "it takes sources such as shop, or beginnings of sources such as shop.*, separated by commas; none may begin with aws.";

/** An empty list stands for the default, as it does in the settings of a deployment. */
export function eventSourcesFrom({
  CARILLON_TARGET_EVENT_SOURCES: text = "",
}: Environment): readonly string[] {
  if (text.trim() === "") return eventSourcesByDefault;
  const sources = text.split(",").map((each) => each.trim());
  const wrong = sources.find((each) => !eventSourceForm.test(each));
  if (wrong === undefined) return sources;
  throw new Error(
    `The environment variable CARILLON_TARGET_EVENT_SOURCES has the entry ${JSON.stringify(wrong)}: ${eventSourcesTakes}.`,
  );
}
