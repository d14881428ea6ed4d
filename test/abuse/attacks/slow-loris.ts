import type { Socket } from "node:net";
import type { Attack } from "../attack.ts";
import { answersOn, openSocket } from "../raw.ts";

const byteEachMs = 500;
/** More than the socket sends while the attack lasts. */
const promisedBytes = 100_000;

export const slowLoris: Attack = {
  name: "slow-loris",
  does: "holds connections open with a byte of a header, or of a body, twice a second",
  holds: "other callers are answered meanwhile",
  async run({ api, answers, tokens, clock }, { seconds, sockets }) {
    const over = new AbortController();
    const open: Socket[] = [];
    const reads: Promise<unknown>[] = [];
    for (let index = 0; index < sockets; index++) {
      const socket = await openSocket(api);
      open.push(socket);
      const head =
        index % 2 === 0
          ? `GET /v1/schedules HTTP/1.1\r\nhost: localhost\r\nx-slow: `
          : `PUT /v1/schedules/abuse:slow HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${tokens.write}\r\ncontent-type: application/json\r\ncontent-length: ${promisedBytes}\r\n\r\n{`;
      socket.write(head);
      reads.push(
        answersOn(socket, over.signal).then((got) => {
          if (got.length === 0) answers.abandoned++;
          for (const each of got) answers.note("a slow request", each);
        }),
      );
    }
    for (let sent = 0; sent < (seconds * 1_000) / byteEachMs; sent++) {
      for (const socket of open) if (socket.writable) socket.write(" ");
      await clock.sleep(byteEachMs);
    }
    over.abort();
    await Promise.all(reads);
    for (const socket of open) socket.destroy();
  },
};
