import type { GatewayEvent } from "../../api/request/incoming.ts";
import type { Clock } from "../../clock.ts";
import type { Assembled } from "../../config/function.ts";
import { httpAnswer } from "../local/lambda/http-answer.ts";
import { httpEvent } from "../local/lambda/http-event.ts";

/** An address that nothing listens at: requests to it go to the function of the API directly. */
export const apiUrl = "http://carillon.test";

/** A `fetch` whose requests are events for the function of the API, in this process. */
export function apiFetch(
  api: Assembled<GatewayEvent, unknown>,
  clock: Pick<Clock, "now">,
): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const event = httpEvent({
      method: request.method,
      target: `${pathname}${search}`,
      httpVersion: "1.1",
      headers: Object.fromEntries([...request.headers].map(([name, value]) => [name, [value]])),
      body: Buffer.from(await request.arrayBuffer()),
      sourceIp: "127.0.0.1",
      receivedAt: clock.now(),
    });
    if (event === null) return new Response('{"message":"Bad Request"}', { status: 400 });
    const invocation = {
      awsRequestId: event.requestContext.requestId,
      getRemainingTimeInMillis: () => 29_000,
    };
    const { status, headers, body } = httpAnswer(await api.handler(event, invocation));
    const answered = new Headers();
    for (const [name, values] of Object.entries(headers))
      for (const value of [values].flat()) answered.append(name, value);
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(body), {
      status,
      headers: answered,
    });
  };
}
