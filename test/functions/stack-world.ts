import { createServer } from "node:http";
import { expect } from "vitest";
import { z } from "zod";
import { assemble } from "../../functions/stack.ts";
import type { GatewayEvent } from "../../lib/api/request/incoming.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type InvokeLocal, startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { localRegion } from "../../lib/tools/local/local-account.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";

const answerShape = z.strictObject({
  Status: z.enum(["SUCCESS", "FAILED"]),
  Reason: z.string().optional(),
  PhysicalResourceId: z.string().min(1),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
});
export type Answer = z.infer<typeof answerShape>;

const sentShape = z
  .object({
    requestContext: z.object({ http: z.object({ method: z.string() }) }),
    rawPath: z.string(),
    headers: z.record(z.string(), z.string()),
  })
  .transform(({ requestContext, rawPath, headers }) => ({
    method: requestContext.http.method,
    path: rawPath,
    headers,
  }));

export interface Asking {
  stack?: string;
  resource?: string;
  /** A repeat of a request has its id. */
  request?: string;
  /** The id of the last answer for the resource. */
  id?: string;
  /** The properties before an update. */
  before?: object;
}

export interface StackWorld {
  api: OwnApi;
  /** Runs the function as CloudFormation does, and returns the answer that its address got. */
  ask(type: "Create" | "Update" | "Delete", properties: object, asking?: Asking): Promise<Answer>;
  /** The variables of the function. */
  environment: Environment;
  /** Runs the function with any event. */
  run(event: unknown): Promise<unknown>;
  /** The answers that CloudFormation's address got. */
  answers: Answer[];
  /** The statuses of the address for the next answers; 200 after them. */
  statuses: number[];
  /** The requests of the function to the API. */
  requests: z.infer<typeof sentShape>[];
  /** Invokes the API's function, for use in `instead`. */
  toApi: InvokeLocal;
  /** Invoked in place of the API's function while it is set. */
  instead: InvokeLocal | undefined;
  /** How often the function waited before another try. */
  pauses: number;
  responseUrl: string;
  stop(): Promise<void>;
}

const account = "123456789012";
export const stackIdOf = (stack: string) =>
  `arn:aws:cloudformation:eu-central-1:${account}:stack/${stack}/4ba13f10-7d3b-11f0-a1b2-0a1b2c3d4e5f`;

/** The function with a real API, its database, and a server in place of CloudFormation's bucket. */
export async function stackWorld(): Promise<StackWorld> {
  const api = await ownApi({ STACK_CALLERS: "true" });
  const answers: Answer[] = [];
  const statuses: number[] = [];
  const bucket = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    expect(request.method).toBe("PUT");
    // The signature of a presigned address includes the content type.
    expect(request.headers["content-type"]).toBeUndefined();
    expect(body.length).toBeLessThanOrEqual(4_096);
    const status = statuses.shift() ?? 200;
    if (status === 200) answers.push(answerShape.parse(JSON.parse(body.toString())));
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => bucket.listen(0, "127.0.0.1", resolve));
  const address = bucket.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const responseUrl = `http://127.0.0.1:${address.port}/answer?X-Amz-Signature=0`;

  // The endpoint passes on the event of the function under test.
  const toApi: InvokeLocal = (event) => api.invoke(event as GatewayEvent);
  const invoke: InvokeLocal = async (event) => {
    world.requests.push(sentShape.parse(event));
    return (world.instead ?? toApi)(event);
  };
  const lambda = await startLambda({
    port: 0,
    functions: new Map([["carillon-api", invoke]]),
    elsewhere: undefined,
    log: silentLog,
  });
  const environment = {
    API_FUNCTION: "carillon-api",
    AWS_REGION: localRegion,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    AWS_ACCESS_KEY_ID: "carillon",
    AWS_SECRET_ACCESS_KEY: "carillon",
    CARILLON_LOG: "silent",
  };
  const { handler, close } = assemble(environment, async () => {
    world.pauses += 1;
  });
  let requests = 0;
  const world: StackWorld = {
    api,
    environment,
    answers,
    statuses,
    requests: [],
    toApi,
    instead: undefined,
    pauses: 0,
    responseUrl,
    run: (event) => handler(event, { awsRequestId: "invocation", getRemainingTimeInMillis: () => 240_000 }),
    ask: async (type, properties, { stack = "Shop", resource = "Weekly", request, id, before } = {}) => {
      requests += 1;
      const event = {
        RequestType: type,
        ServiceToken: "arn:aws:lambda:eu-central-1:123456789012:function:carillon-stack",
        ResponseURL: responseUrl,
        StackId: stackIdOf(stack),
        RequestId: request ?? `request-${requests}`,
        LogicalResourceId: resource,
        ResourceType: "Custom::CarillonSchedule",
        ...(id === undefined ? {} : { PhysicalResourceId: id }),
        ResourceProperties: { ServiceToken: "arn", ServiceTimeout: "600", ...properties },
        ...(before === undefined ? {} : { OldResourceProperties: { ServiceToken: "arn", ...before } }),
      };
      const count = answers.length;
      await world.run(event);
      expect(answers).toHaveLength(count + 1);
      const answer = answerShape.parse(answers.at(-1));
      expect(answer).toMatchObject({
        StackId: event.StackId,
        RequestId: event.RequestId,
        LogicalResourceId: resource,
      });
      return answer;
    },
    stop: async () => {
      await close();
      await lambda.close(1_000);
      bucket.close();
      await api.stop();
    },
  };
  return world;
}
