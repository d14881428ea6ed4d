import { bodyBytesMax, readJsonBody } from "../../lib/api/request/json-body.ts";

/** Bodies of the largest allowed size, filled with one value. */
export function* fullBodies(): Generator<[string, string]> {
  for (const value of ["{}", "1", '""', '{"a":1}', '[""]']) {
    const count = Math.floor(bodyBytesMax / (value.length + 1)) - 2;
    yield [value, `[${`${value},`.repeat(count)}0]`];
  }
}

export function* cases(): Generator<[string, () => void]> {
  for (const [value, body] of fullBodies()) yield [value, () => refused(body)];
}

function refused(body: string): void {
  try {
    readJsonBody({ body, contentType: "application/json", isBase64Encoded: false });
  } catch {
    return;
  }
  throw new Error("The body was accepted.");
}
