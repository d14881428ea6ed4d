import { expect, test } from "vitest";
import { roundTripListener } from "./round-trips.ts";

const message = (type: string, body = "") => {
  const bytes = Buffer.alloc(type.length + 4 + body.length);
  bytes.write(type, 0);
  bytes.writeInt32BE(4 + body.length, type.length);
  bytes.write(body, type.length + 4);
  return bytes;
};
const messages = (types: string) => Buffer.concat([...types].map((type) => message(type, "body")));

/**
 * The number of round trips of a conversation: `>` marks messages of the client, `<` those of the
 * server.
 */
function counted(conversation: readonly string[], pieceBytes: number): number {
  let taken = 0;
  const listener = roundTripListener(() => {
    taken += 1;
  });
  const inPieces = (hear: (bytes: Buffer) => void, bytes: Buffer) => {
    for (let from = 0; from < bytes.length; from += pieceBytes) hear(bytes.subarray(from, from + pieceBytes));
  };
  inPieces(listener.said, message("", "startup"));
  inPieces(listener.answered, messages("R"));
  inPieces(listener.said, messages("p"));
  inPieces(listener.answered, messages("RSSKZ"));
  for (const said of conversation)
    inPieces(said.startsWith(">") ? listener.said : listener.answered, messages(said.slice(1)));
  return taken;
}

test.each([
  ["the login takes none", [], 0],
  ["a statement takes one", [">PDBES", "<12TDDCZ"], 1],
  ["a plain query takes one", [">Q", "<TDCZ"], 1],
  ["two statements that are sent together take one", [">BESBES", "<2CZ2CZ"], 1],
  ["two statements that are sent one after the other take one", [">BES", ">BES", "<2CZ", "<2CZ"], 1],
  ["a statement after an answer takes one more", [">BES", "<2CZ", ">BES", "<2CZ"], 2],
  ["a statement before the end of an answer takes no more", [">BES", "<2C", ">BES", "<Z2CZ"], 1],
  [
    "a statement after the first of two answers takes one more",
    [">BESBES", "<2CZ", ">BES", "<2CZ", "<2CZ"],
    2,
  ],
  ["a statement whose types are described first takes two", [">PDH", "<1tn", ">BES", "<2CZ"], 2],
  ["a statement that is refused when its types are described takes two", [">PDH", "<E", ">S", "<Z"], 2],
])("%s", (_, conversation, roundTrips) => {
  for (const pieceBytes of [1, 2, 3, 7, 10_000]) expect(counted(conversation, pieceBytes)).toBe(roundTrips);
});
