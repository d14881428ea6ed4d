import { describe, expect, test } from "vitest";
import { acknowledged } from "../../lib/tools/local/lambda/batch-response.ts";

const sent = ["a", "b", "c"];

describe("a batch response", () => {
  test("a batch response acknowledges the records that it does not name as failed", () => {
    expect(acknowledged({ batchItemFailures: [] }, sent)).toEqual(sent);
    expect(acknowledged({ batchItemFailures: [{ itemIdentifier: "b" }] }, sent)).toEqual(["a", "c"]);
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "ok"],
    ["an empty object", {}],
    ["null for the list", { batchItemFailures: null }],
    ["an object for the list", { batchItemFailures: { itemIdentifier: "a" } }],
    ["an unknown record", { batchItemFailures: [{ itemIdentifier: "x" }] }],
    ["an empty record", { batchItemFailures: [{ itemIdentifier: "" }] }],
    ["a record under another name", { batchItemFailures: [{ id: "a" }] }],
    ["a record that is no object", { batchItemFailures: ["a"] }],
    ["one good and one odd record", { batchItemFailures: [{ itemIdentifier: "a" }, { itemIdentifier: 1 }] }],
  ])("a batch response acknowledges no record when it is or holds %s", (_, response) => {
    expect(acknowledged(response, sent)).toEqual([]);
  });
});
