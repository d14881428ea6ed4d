import { gzipSync } from "node:zlib";
import { type Attack, ownPrefix } from "../attack.ts";
import { inParallel } from "../caller.ts";
import { sendRaw } from "../raw.ts";

const megabyte = 1024 * 1024;
const atOnce = 4;
/** The time for the answer to a request whose body never ends. */
const unfinishedMs = 2_000;

const path = `/v1/schedules/${ownPrefix}large`;

/** A schedule whose JSON has this many bytes. */
function scheduleOf(bytes: number): string {
  const rest = { when: "every 1h", target: { handler: "greet" } };
  const empty = JSON.stringify({ ...rest, description: "" });
  return JSON.stringify({ ...rest, description: "x".repeat(Math.max(0, bytes - empty.length)) });
}

const wellFramed = (): { body: string | Buffer; headers?: Record<string, string> }[] => [
  { body: scheduleOf(5 * megabyte) },
  { body: scheduleOf(5 * megabyte + 1) },
  { body: scheduleOf(11 * megabyte) },
  { body: JSON.stringify({ payload: { text: "ä".repeat(2 * megabyte) } }) },
  { body: Buffer.alloc(5 * megabyte, 0xff) },
  { body: gzipSync(Buffer.alloc(50 * megabyte)), headers: { "content-encoding": "gzip" } },
];

function badlyFramed(token: string): (string | Buffer)[][] {
  const start = `PUT ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  const large = scheduleOf(5 * megabyte);
  const chunk = `${large.length.toString(16)}\r\n${large}\r\n`;
  return [
    [`${start}transfer-encoding: chunked\r\n\r\n`, chunk, "0\r\n\r\n"],
    [`${start}transfer-encoding: chunked\r\n\r\n`, chunk, chunk, chunk, "0\r\n\r\n"],
    // The chunks never end.
    [`${start}transfer-encoding: chunked\r\n\r\n`, chunk],
    [`${start}transfer-encoding: chunked\r\n\r\n`, "zz\r\nnot a chunk\r\n"],
    [`${start}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n`, "0\r\n\r\n"],
    // Shorter and longer than the body.
    [`${start}content-length: 10\r\n\r\n`, scheduleOf(1_000)],
    [`${start}content-length: ${megabyte}\r\n\r\n`, scheduleOf(1_000)],
    [`${start}content-length: -1\r\n\r\n`, "{}"],
    [`${start}content-length: 99999999999999999999\r\n\r\n`, "{}"],
    [`${start}content-length: 2\r\ncontent-length: 3\r\n\r\n`, "{} "],
    [`${start}x-large: ${"h".repeat(megabyte)}\r\n\r\n`],
  ];
}

export const largeBodies: Attack = {
  name: "bodies",
  does: "sends bodies of 5 MB and 11 MB, bombs of gzip, chunks without an end, and wrong lengths",
  holds: "a body that is too large is a 413",
  async run({ api, caller, answers, tokens }, { bodies }) {
    const framed = wellFramed();
    await inParallel(bodies * framed.length, atOnce, async (index) => {
      const { body, headers = {} } = framed[index % framed.length] ?? { body: "" };
      const answer = await caller.send({ method: "PUT", path, token: tokens.write, body, headers });
      if (answer === undefined) return;
      if (body.length > 5 * megabyte && answer.status !== 413)
        answers.fault(`a body of ${body.length} bytes was answered ${answer.status}`);
    });
    const broken = badlyFramed(tokens.write);
    await inParallel(bodies * broken.length, atOnce, async (index) => {
      const got = await sendRaw(api, broken[index % broken.length] ?? [], AbortSignal.timeout(unfinishedMs));
      if (got.length === 0) answers.abandoned++;
      for (const each of got) answers.note(`the wrong frame ${index % broken.length}`, each);
    });
  },
};
