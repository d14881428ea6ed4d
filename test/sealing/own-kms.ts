import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { KMSClient } from "@aws-sdk/client-kms";
import * as z from "zod";
import { makePair } from "../../lib/sealing/hpke.ts";

const asked = z.object({
  KeyId: z.string().optional(),
  KeyPairSpec: z.string().optional(),
  CiphertextBlob: z.string().optional(),
  EncryptionContext: z.record(z.string(), z.string()).default({}),
});

/**
 * The two operations of KMS that Carillon uses, in its protocol. A ciphertext opens with the same
 * encryption context only, as in KMS.
 */
export async function ownKms() {
  const pairs = new Map<string, { plaintext: string; context: string }>();
  const operations: string[] = [];
  let failure: string | null = null;
  const answer = async (operation: string, body: unknown): Promise<[number, object]> => {
    operations.push(operation);
    if (failure !== null) return [400, { __type: failure, message: "as the test asks" }];
    const { KeyId, KeyPairSpec, CiphertextBlob = "", EncryptionContext } = asked.parse(body);
    const context = JSON.stringify(EncryptionContext);
    if (operation === "TrentService.GenerateDataKeyPairWithoutPlaintext") {
      const { publicKey, privateKey } = await makePair();
      const blob = Buffer.from(`blob ${pairs.size}`).toString("base64");
      pairs.set(blob, { plaintext: Buffer.from(privateKey).toString("base64"), context });
      const PublicKey = Buffer.from(publicKey).toString("base64");
      return [200, { KeyId, KeyPairSpec, PublicKey, PrivateKeyCiphertextBlob: blob }];
    }
    if (operation !== "TrentService.Decrypt") return [400, { __type: "UnknownOperationException" }];
    const pair = pairs.get(CiphertextBlob);
    if (pair === undefined || pair.context !== context)
      return [400, { __type: "InvalidCiphertextException" }];
    return [200, { KeyId, Plaintext: pair.plaintext }];
  };
  const server = createServer(async (request, response) => {
    const [status, body] = await answer(
      String(request.headers["x-amz-target"]),
      JSON.parse(await text(request)),
    );
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const url = `http://127.0.0.1:${address.port}`;
  const client = new KMSClient({
    endpoint: url,
    region: "eu-central-1",
    credentials: { accessKeyId: "own", secretAccessKey: "own" },
    maxAttempts: 1,
  });
  return {
    url,
    client,
    operations,
    /** Answers every request with this error from now on; null for answers again. */
    fail: (type: string | null) => {
      failure = type;
    },
    stop: async () => {
      client.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}
