import { App, Stack } from "aws-cdk-lib";
import { expect, test } from "vitest";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";

test.each<[string, CarillonProps]>([
  ["These settings cannot be used", { tickShards: -1 }],
  ["endpoints: sqs and secretsmanager cannot be left out", { endpoints: [] }],
  ["database: an external one also needs", { database: "external", functionsInVpc: false }],
  ["apiFirewall: an HTTP API does not support it", { apiFirewall: true }],
  ["handlersEntry", { handlersEntry: "no/such/file.ts" }],
  ["The functions may need", { fastConcurrency: 1_000 }],
])("The stack of the fault %j begins at the line of the app that makes the construct", (sentence, props) => {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  let caught: unknown;
  try {
    new Carillon(stack, "Carillon", props);
  } catch (error) {
    caught = error;
  }
  if (!(caught instanceof Error)) throw new Error("The construct was made.");
  expect(caught.message).toContain(sentence);
  const frame = caught.stack?.split("\n").find((line) => line.startsWith("    at "));
  expect(frame).toContain("app-stacks.test.ts");
});
