/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "b6851fe65fe683e43a518b5889646452c3467344",
  lastMigration: 29,
  migrationsDigest: "9842c5ad2f505403c26466901702a46b84cbb84adc921905c7fe234d921266cc",
} as const;
