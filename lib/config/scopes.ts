/** read: look at everything; write: schedules and jobs as well; admin: holds of others and tokens as well. From the least to the most. */
export const scopes = ["read", "write", "admin"] as const;

export type Scope = (typeof scopes)[number];
