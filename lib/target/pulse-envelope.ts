/** An envelope begins with its id, and no id has a character that JSON escapes. */
const idAt = '{"id":"'.length;

export function idOf(envelope: string): string {
  return envelope.slice(idAt, envelope.indexOf('"', idAt));
}

/**
 * The key of the schedule; null if the envelope is not JSON: its row was written before the
 * database refused such rows, or is damaged.
 */
export function keyOf(envelope: string): string | null {
  try {
    const { subject }: { subject: string } = JSON.parse(envelope);
    return subject;
  } catch {
    return null;
  }
}
