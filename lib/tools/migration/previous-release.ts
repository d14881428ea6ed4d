/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "01499696ca2e02a5021ae7bee6654b86e5d34f50",
  lastMigration: 29,
  migrationsDigest: "a86da4d160487081f33d60ecfacf5db504207977ec8cb07f76883f7a432e43b2",
} as const;
