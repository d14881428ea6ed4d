/**
 * The records of a batch that the handler has proven done: those that a well-formed response does
 * not name as failed. Any other response, or one that names an unknown record, proves nothing, so
 * the whole batch is delivered again. (Lambda treats an empty response as success. Carillon's
 * handlers must always return one, so the local stack is stricter.)
 */
export function acknowledged(response: unknown, messageIds: readonly string[]): string[] {
  const failed = failedIds(response);
  if (failed === undefined) return [];
  const known = new Set(messageIds);
  if (failed.some((id) => !known.has(id))) return [];
  const notDone = new Set(failed);
  return messageIds.filter((id) => !notDone.has(id));
}

function failedIds(response: unknown): string[] | undefined {
  if (typeof response !== "object" || response === null || !("batchItemFailures" in response))
    return undefined;
  const { batchItemFailures } = response;
  if (!Array.isArray(batchItemFailures)) return undefined;
  const ids = batchItemFailures.map((failure: unknown) => {
    if (typeof failure !== "object" || failure === null || !("itemIdentifier" in failure)) return undefined;
    return typeof failure.itemIdentifier === "string" ? failure.itemIdentifier : undefined;
  });
  return ids.every((id) => id !== undefined) ? ids : undefined;
}
