/**
 * The operationId that generators of clients use: `GET /v1/schedules/{key}/jobs` is
 * `listScheduleJobs`, `POST /v1/jobs/{id}/retry` is `retryJob`, `POST /v1/schedules:batch` is
 * `batchSchedules`.
 */
export function operationName(method: string, path: string): string {
  const parts = path.split("/").slice(2);
  const nouns = parts.flatMap((part, index) => {
    if (isParameter(part)) return [];
    return [isParameter(parts[index + 1]) ? singular(camelCase(part)) : camelCase(part)];
  });
  const last = parts.at(-1) ?? "";
  const [noun = "", verb] = last.split(":");
  if (verb !== undefined) return joined(verb, [...nouns.slice(0, -1), camelCase(noun)]);
  if (method === "POST") {
    const isAction = isParameter(parts.at(-2));
    return isAction
      ? joined(camelCase(last), nouns.slice(0, -1))
      : joined("create", [...nouns.slice(0, -1), singular(camelCase(last))]);
  }
  if (method !== "GET") return joined(method.toLowerCase(), nouns);
  return joined(!isParameter(last) && last.endsWith("s") ? "list" : "get", nouns);
}

function isParameter(part: string | undefined): boolean {
  return part?.startsWith("{") ?? false;
}

function singular(noun: string): string {
  return noun.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
}

function camelCase(words: string): string {
  return words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function joined(verb: string, nouns: readonly string[]): string {
  return verb + nouns.map((noun) => noun.charAt(0).toUpperCase() + noun.slice(1)).join("");
}
