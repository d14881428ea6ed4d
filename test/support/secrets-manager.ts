import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { z } from "zod";

/** The content of a secret by version label; a plain text is the current version. */
export type SecretVersions = string | { readonly AWSCURRENT: string; readonly AWSPREVIOUS?: string };

const asked = z.object({
  SecretId: z.string(),
  VersionStage: z.enum(["AWSCURRENT", "AWSPREVIOUS"]).default("AWSCURRENT"),
});

export interface SecretsManager {
  readonly url: string;
  /** The ids of the secrets that were read, in order. */
  readonly reads: string[];
}

/**
 * A server with the part of Secrets Manager that functions use, for the time of the test. `secrets`
 * may change meanwhile.
 */
export async function serveSecrets(
  secrets: Readonly<Record<string, SecretVersions>>,
): Promise<SecretsManager> {
  const reads: string[] = [];
  const server = createServer(async (request, response) => {
    const { SecretId, VersionStage } = asked.parse(
      JSON.parse(Buffer.concat(await request.toArray()).toString()),
    );
    reads.push(SecretId);
    const versions = secrets[SecretId];
    const SecretString = typeof versions === "object" ? versions[VersionStage] : versions;
    const known = SecretString !== undefined;
    response.writeHead(known ? 200 : 400, { "content-type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(known ? { SecretString } : { __type: "ResourceNotFoundException" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return { url: `http://127.0.0.1:${address.port}`, reads };
}
