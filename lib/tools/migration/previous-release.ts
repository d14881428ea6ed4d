/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "c82db85e4a06c7b70b56c54ebacb8d6658d4bc27",
  lastMigration: 29,
  migrationsDigest: "1eebfd54848e4d0b8c6fd0cd5c448c926a3580b0258a8ddce91d78ce114f0bc6",
} as const;
