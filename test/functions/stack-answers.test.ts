import { expect, test } from "vitest";
import { assemble } from "../../functions/stack.ts";
import { type StackWorld, stackIdOf } from "./stack-world.ts";
import { withStackWorld } from "./with-stack-world.ts";

let world: StackWorld;
let key: string;
withStackWorld((opened) => {
  ({ world, key } = opened);
});

const hourly = (more: object = {}) => ({
  key,
  when: "every 1h",
  target: { queue: "carillon-target-polls" },
  ...more,
});
const asked = (more: object = {}) => ({
  RequestType: "Create",
  ResponseURL: world.responseUrl,
  StackId: stackIdOf("Shop"),
  RequestId: `alone-${key}`,
  LogicalResourceId: "Hourly",
  ResourceProperties: hourly(),
  ...more,
});
const failed = () => {
  throw new Error("Task timed out after 29.00 seconds");
};

test("an API that never answers is tried many times, and then the answer says so", async () => {
  world.instead = failed;
  const answer = await world.ask("Create", hourly());
  expect(answer).toMatchObject({ Status: "FAILED", PhysicalResourceId: key });
  expect(answer.Reason).toMatch(/^Carillon's API did not answer: .*timed out after 29/);
  expect(world.requests).toHaveLength(21);
  expect(world.pauses).toBe(20);
});

test("an API that is away for some tries is asked again", async () => {
  let tries = 0;
  world.instead = (event) => {
    tries += 1;
    return tries < 4 ? failed() : world.toApi(event);
  };
  expect(await world.ask("Create", hourly())).toMatchObject({ Status: "SUCCESS" });
});

test("a put whose answer is lost is carried out once", async () => {
  let lost = 0;
  world.instead = async (event) => {
    const answer = await world.toApi(event);
    if (world.requests.at(-1)?.method !== "PUT" || lost > 0) return answer;
    lost += 1;
    return failed();
  };
  expect(await world.ask("Create", hourly())).toMatchObject({ Status: "SUCCESS" });
  const puts = world.requests.filter(({ method }) => method === "PUT");
  expect(puts.map(({ headers }) => headers["idempotency-key"])).toEqual(
    Array(2).fill(expect.stringMatching(/^request-\d+:new:1$/)),
  );
  expect((await world.api.send("GET", `/v1/schedules/${key}`)).json).toMatchObject({ version: 1 });
});

test("the schedule of a creation that failed without an answer is deleted by the rollback", async () => {
  world.instead = async (event) => {
    await world.toApi(event);
    return { statusCode: 500, headers: {}, body: "" };
  };
  // The read fails first, so it is passed on.
  const through = world.instead;
  world.instead = (event) => (world.requests.at(-1)?.method === "PUT" ? through(event) : world.toApi(event));
  const { Status, PhysicalResourceId: id } = await world.ask("Create", hourly());
  expect(Status).toBe("FAILED");
  world.instead = undefined;
  expect((await world.api.send("GET", `/v1/schedules/${key}`)).status).toBe(200);
  await world.ask("Delete", hourly(), { id });
  expect((await world.api.send("GET", `/v1/schedules/${key}`)).status).toBe(404);
});

test("a time that is up is answered, while there is time for the answer", async () => {
  const late = Promise.withResolvers<object>();
  world.instead = () => late.promise;
  const { handler, close } = assemble(world.environment);
  await handler(asked(), { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 });
  expect(world.answers.at(-1)).toMatchObject({
    Status: "FAILED",
    Reason: "Carillon's API did not answer within 0 seconds.",
  });
  late.resolve({});
  await close();
});

test("an error that nobody expected is answered too, without its text", async () => {
  const { handler, close } = assemble({ ...world.environment, API_FUNCTION: "" });
  await handler(asked(), { awsRequestId: "1", getRemainingTimeInMillis: () => 240_000 });
  expect(world.answers.at(-1)).toMatchObject({
    Status: "FAILED",
    Reason: `The function that keeps schedules of stacks failed; its log names the reason under request alone-${key}.`,
  });
  await close();
});

test.each([{ RequestType: "Sing" }, { ResourceProperties: "none" }, { StackId: "Shop" }])(
  "an event with %j is answered with a failure",
  async (more) => {
    await world.run(asked(more));
    expect(world.answers.at(-1)).toMatchObject({ Status: "FAILED", RequestId: `alone-${key}` });
  },
);

test("an event without an address is thrown with the fields at fault, and without their values", async () => {
  await expect(world.run({ ...asked(), ResponseURL: "secret" })).rejects.toThrow(
    "The event is not one of CloudFormation's: ResponseURL is not valid.",
  );
});

test("an answer that the address refuses is sent again, and a lasting refusal is thrown, so that Lambda runs the request again", async () => {
  world.statuses.push(500, 503);
  expect(await world.ask("Create", hourly())).toMatchObject({ Status: "SUCCESS" });
  expect(world.pauses).toBe(2);
  const count = world.answers.length;
  world.statuses.push(403, 403, 403, 403);
  await expect(world.run(asked())).rejects.toThrow("The address for the answer answered 403.");
  expect(world.answers).toHaveLength(count);
});

test("a reason is cut where the answer would be longer than CloudFormation takes", async () => {
  const fields = Object.fromEntries(
    Array.from({ length: 90 }, (_, n) => [`"ünknown" ${n} ${"x".repeat(60)}`, "1"]),
  );
  const answer = await world.ask("Create", hourly(fields));
  expect(answer.Status).toBe("FAILED");
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  expect(bytes).toBeGreaterThan(3_000);
  expect(bytes).toBeLessThanOrEqual(4_096);
});
