import { expect, test } from "vitest";
import { Closers } from "../../lib/tools/local/closers.ts";

test("started parts are closed in the reverse order, also after one that fails, and the first failure is thrown", async () => {
  const closed: string[] = [];
  const closers = new Closers();
  closers.defer(() => closed.push("first"));
  closers.defer(async () => {
    closed.push("second");
    throw new Error("second");
  });
  closers.defer(() => {
    closed.push("third");
    throw new Error("third");
  });
  await expect(closers.close()).rejects.toThrow("third");
  expect(closed).toEqual(["third", "second", "first"]);
  await closers.close();
  expect(closed).toHaveLength(3);
});
