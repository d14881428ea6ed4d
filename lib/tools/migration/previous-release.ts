/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "01499696ca2e02a5021ae7bee6654b86e5d34f50",
  lastMigration: 29,
  migrationsDigest: "65bfb88f728854bbd425d19a9b99dc5302b0fb540378eb0de4707e2771904887",
} as const;
