const lengthBytes = 4;

/**
 * Reads the messages of Postgres's protocol out of bytes that arrive in pieces of any size: each
 * message is a letter and a length before its body. The client's first message has no letter.
 */
export function messageReader(
  from: "client" | "server",
  tell: (type: string, body: Buffer) => void,
): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes = from === "client" ? 0 : 1;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= typeBytes + lengthBytes) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      tell(rest.toString("latin1", 0, typeBytes), rest.subarray(typeBytes + lengthBytes, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
  };
}
