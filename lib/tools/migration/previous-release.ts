/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "b2c2e348e363563a1211c8913b187f398516839a",
  lastMigration: 29,
  migrationsDigest: "b4c74d25b46ab6664da5fd93bbf84acd6e5e998dcd43a0cd8cdd23080d720007",
} as const;
