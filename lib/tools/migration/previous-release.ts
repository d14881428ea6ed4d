/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "0401417ebd9872e6f32c67373a1291196e5d346d",
  lastMigration: 29,
  migrationsDigest: "8ac73d4908a30e2639bb26bf73925954da2a5fbe9e863750283b3645871b334c",
} as const;
