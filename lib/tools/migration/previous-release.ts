/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "c82db85e4a06c7b70b56c54ebacb8d6658d4bc27",
  lastMigration: 29,
  migrationsDigest: "e4c23f65468c5017d462e3c34c6ef30f9562778bc618febe3319cf7a349bd481",
} as const;
