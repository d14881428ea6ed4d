import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { isPassingFailure } from "../../lib/db/passing-failure.ts";

let server: Server;
afterEach(() => {
  server.close();
});

/** The error of a statement when the server answers a connection in this way. */
async function failureAt(answer: (socket: Socket) => void): Promise<unknown> {
  const open = new Set<Socket>();
  server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const sql = connect({ DATABASE_URL: `postgres://someone:secret@127.0.0.1:${address.port}/none` });
  try {
    return await sql`select 1`.then(
      () => "It was answered.",
      (error: unknown) => error,
    );
  } finally {
    await sql.end();
    for (const socket of open) socket.destroy();
  }
}

/** An error as a server sends it when it refuses a login. */
function fatal(state: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0Mnot now\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}

test.each(["57P03", "57P02", "57P01", "53300"])(
  "a server that refuses logins for now (%s) is a passing failure",
  async (state) => {
    const failure = await failureAt((socket) => socket.end(fatal(state)));
    expect(failure).toMatchObject({ code: state });
    expect(isPassingFailure(failure)).toBe(true);
  },
);

test("a server that accepts the connection and is silent is a passing failure", async () => {
  const failure = await failureAt(() => {});
  expect(failure).toBeInstanceOf(Error);
  expect(isPassingFailure(failure)).toBe(true);
});
