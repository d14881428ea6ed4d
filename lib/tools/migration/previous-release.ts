/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "b6851fe65fe683e43a518b5889646452c3467344",
  lastMigration: 29,
  migrationsDigest: "b6e81974bec877a88aec513dd13408d1cd74433b30f97987843484e8cc515dbf",
} as const;
