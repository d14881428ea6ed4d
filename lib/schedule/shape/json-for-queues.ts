const refused = /[\uFFFE\uFFFF]/;

/** JSON leaves two characters as they are that SQS takes no message with. */
export function jsonForQueues(value: unknown): string {
  const json = JSON.stringify(value);
  if (!refused.test(json)) return json;
  return json.replaceAll("\uFFFE", "\\ufffe").replaceAll("\uFFFF", "\\uffff");
}
