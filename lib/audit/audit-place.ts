/** The position at which a page of the audit ended. */
export interface AuditPlace {
  at: Date;
  id: string;
}

export function auditPlaceText({ at, id }: AuditPlace): string {
  return `${at.getTime()}-${id}`;
}

/** Null if the text is not a position. */
export function readAuditPlace(text: string): AuditPlace | null {
  const [, ms, id] = /^(\d{1,14})-([1-9]\d{0,17})$/.exec(text) ?? [];
  return ms === undefined || id === undefined ? null : { at: new Date(Number(ms)), id };
}
