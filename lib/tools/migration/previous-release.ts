/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "eaace77e859ab20756dcf889409f310b353dad23",
  lastMigration: 29,
  migrationsDigest: "6181a58976f8f65863e40acad82e3660285343d7909143414374bc2504988ebb",
} as const;
