import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { UsageFault } from "./fault.ts";

/** A place for a secret that nobody but the owner may read. The file itself is there, or another than before, once it is filled. */
export interface SecretFile {
  fill(text: string): Promise<void>;
  /** Leaves nothing behind where it was not filled. */
  close(): Promise<void>;
}

/** Reserved before the secret is made: one that can be written nowhere would be lost. */
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
