/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "01499696ca2e02a5021ae7bee6654b86e5d34f50",
  lastMigration: 29,
  migrationsDigest: "d1b42a17b2d9216c6656bdc1d932564a6a0f972550a4b48f1fdb6e4455adc18c",
} as const;
