/**
 * read: all reads. write: also schedules and jobs. admin: also holds of other owners, and tokens.
 * In rising order of rights.
 */
export const scopes = ["read", "write", "admin"] as const;

export type Scope = (typeof scopes)[number];
