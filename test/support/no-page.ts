import type { APIGatewayProxyEventV2 } from "aws-lambda";
import type { LocalFunction } from "../../lib/tools/local/lambda/local-function.ts";

/** For servers whose tests ask for no page. */
export const noPage: LocalFunction<APIGatewayProxyEventV2, unknown> = {
  name: "page",
  concurrency: 1,
  invoke: async () => ({ statusCode: 404, headers: {}, body: "" }),
  renew: () => {},
  close: async () => {},
};
