import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { UsageFault } from "./fault.ts";

/**
 * A file for a secret that only its owner can read. The file is created, or replaced, when it is
 * filled.
 */
export interface SecretFile {
  fill(text: string): Promise<void>;
  /** Removes the temporary file where it was not filled. */
  close(): Promise<void>;
}

/** Opened before the secret is made, because a secret that cannot be written would be lost. */
export async function secretFile(file: string): Promise<SecretFile> {
  const beside = `${file}.${randomUUID()}`;
  const handle = await open(beside, "wx", 0o600).catch((error: unknown) => {
    throw new UsageFault(
      `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return {
    fill: async (text) => {
      await handle.writeFile(text);
      await handle.sync();
      await rename(beside, file);
    },
    close: async () => {
      await handle.close();
      await rm(beside, { force: true });
    },
  };
}
