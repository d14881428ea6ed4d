/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "ca3b94996ace47141b8cb3c70d1c25a4cf900bca",
  lastMigration: 29,
  migrationsDigest: "6181a58976f8f65863e40acad82e3660285343d7909143414374bc2504988ebb",
} as const;
