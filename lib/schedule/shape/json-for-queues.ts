const refused = /[\uFFFE\uFFFF]/;

/**
 * JSON in which two characters are escaped: SQS refuses them, and JSON.stringify leaves them as
 * they are.
 */
export function jsonForQueues(value: unknown): string {
  const json = JSON.stringify(value);
  if (!refused.test(json)) return json;
  return json.replaceAll("\uFFFE", "\\ufffe").replaceAll("\uFFFF", "\\uffff");
}
