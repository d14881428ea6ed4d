import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { z } from "zod";

/** What a secret holds, by the label of its version; a text alone is what it holds now. */
export type SecretVersions = string | { readonly AWSCURRENT: string; readonly AWSPREVIOUS?: string };

const asked = z.object({
  SecretId: z.string(),
  VersionStage: z.enum(["AWSCURRENT", "AWSPREVIOUS"]).default("AWSCURRENT"),
});

export interface SecretsManager {
  readonly url: string;
  /** Which have been read, in order. */
  readonly reads: string[];
}

/** As much of Secrets Manager as functions use, for as long as the test; `secrets` may change meanwhile. */
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
