import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { runNode } from "../support/run-node.ts";
import { certificates, serve, serveTls, serveTlsBefore } from "../support/tls-front.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

// As in Lambda: Node reads additional certificates when it starts.
const trusting = { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("authority.pem", certificates)) };

const selectOne = `
  import { connect } from "./lib/db/connect.ts";
  const sql = connect(process.env);
  const result = await sql\`select 1 as one\`.then(([row]) => row.one, (error) => error.cause?.code ?? error.cause?.message ?? error.message);
  console.log(result);
  await sql.end();`;

function through(port: number, sslmode = "verify-full"): string {
  const url = new URL(database.url);
  url.host = `localhost:${port}`;
  url.searchParams.set("sslmode", sslmode);
  return url.href;
}

test("a server with a trusted certificate of its name is accepted, and the connection is encrypted", async () => {
  const port = await serveTlsBefore("localhost", database.url);
  expect(await runNode(selectOne, { DATABASE_URL: through(port), ...trusting })).toBe("1");
});

test("a certificate of another name is refused, also by sslmode=require", async () => {
  const port = await serveTlsBefore("elsewhere", database.url);
  for (const sslmode of ["verify-full", "require"]) {
    const env = { DATABASE_URL: through(port, sslmode), ...trusting };
    expect(await runNode(selectOne, env)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  }
});

test("a certificate of an unknown authority is refused", async () => {
  const port = await serveTlsBefore("localhost", database.url);
  const sql = connect({ DATABASE_URL: through(port) });
  await expect(sql`select 1`).rejects.toMatchObject({ cause: { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" } });
  await sql.end();
});

test("a server without TLS is refused, and so is clear text before the handshake", async () => {
  for (const answer of ["N", "S and then some"]) {
    const port = await serve((socket) => socket.once("data", () => socket.write(answer)));
    const sql = connect({ DATABASE_URL: through(port) });
    await expect(sql`select 1`).rejects.toMatchObject({
      cause: { message: "The server does not offer TLS." },
    });
    await sql.end();
  }
});

test("a server that closes without an answer is an error at once", async () => {
  const port = await serve((socket) => socket.destroy());
  const sql = connect({ DATABASE_URL: through(port) });
  await expect(sql`select 1`).rejects.toThrow("could not be reached");
  await sql.end();
});

const byIam = {
  DATABASE_HOST: "localhost",
  DATABASE_NAME: "carillon",
  DATABASE_USER: "carillon_tick",
  DATABASE_AUTH: "iam",
  AWS_REGION: "eu-central-1",
};

test("with IAM the password is a token for this user, sent only inside TLS", async () => {
  const { promise: token, resolve } = Promise.withResolvers<string>();
  const askForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
  const port = await serveTls("localhost", (clear) => {
    clear.once("data", () => {
      clear.write(askForPassword);
      clear.once("data", (message: Buffer) => {
        resolve(message.subarray(5, -1).toString());
        clear.destroy();
      });
    });
  });
  const keys = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "not-a-secret" };
  await runNode(selectOne, { ...byIam, DATABASE_PORT: String(port), ...keys, ...trusting });
  const sent = await token;
  expect(sent).toContain(`localhost:${port}/?`);
  expect(sent).toContain("Action=connect");
  expect(sent).toContain("DBUser=carillon_tick");
});

test("without credentials for a token each statement is rejected, without an unhandled rejection", async () => {
  const none = { AWS_EC2_METADATA_DISABLED: "true", HOME: "/nowhere", DATABASE_PORT: "1" };
  expect(await runNode(selectOne, { ...byIam, ...none })).toContain("credentials");
});
