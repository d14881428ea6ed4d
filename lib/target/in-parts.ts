import { isUnanswered, type Sent, thrown } from "./delivery.ts";

/** The errors with which SQS and EventBridge refuse a whole request because of one entry. */
const ofAnEntry: ReadonlySet<string> = new Set([
  "BatchRequestTooLong",
  "InvalidMessageContents",
  "InvalidParameterValue",
  "InvalidParameterValueException",
  "MissingParameter",
  "SerializationException",
  "ValidationException",
]);
const tooLarge = 413;

/**
 * Sends the entries of one request and returns their outcomes. If the request is refused as a whole
 * for its content, its halves are sent, until the entry at fault is alone. Otherwise each attempt
 * would send that entry together with the same others again, until these have no attempts left.
 */
export async function inParts<Entry>(
  batch: readonly Entry[],
  send: (some: readonly Entry[]) => Promise<Sent[]>,
): Promise<Sent[]> {
  try {
    return await send(batch);
  } catch (error) {
    if (batch.length === 1 || !isOfAnEntry(error)) return batch.map(() => thrown(error));
    const half = Math.ceil(batch.length / 2);
    const first = await inParts(batch.slice(0, half), send);
    const rest = batch.slice(half);
    // A service that has stopped answering would delay each further request as long.
    const silence = first.find(isUnanswered);
    return [...first, ...(silence === undefined ? await inParts(rest, send) : rest.map(() => silence))];
  }
}

function isOfAnEntry(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const metadata: unknown = Reflect.get(error, "$metadata");
  const isTooLarge =
    typeof metadata === "object" && metadata !== null && Reflect.get(metadata, "httpStatusCode") === tooLarge;
  return isTooLarge || ofAnEntry.has(error.name);
}
