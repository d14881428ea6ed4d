import type { RequestListener, ServerResponse } from "node:http";
import { answerFault } from "../callers.ts";

const awsJson = "application/x-amz-json-1.0";
const queryProtocol = "application/x-www-form-urlencoded";
const queuePath = /^\/\d{12}\/[\w.-]+$/;

/**
 * Passes on requests in SQS's JSON protocol alone. The emulator also has S3, pages that list the
 * queues, and SNS. A topic of SNS sends to queues, and SNS takes forms. Any page can send a form:
 * browsers make no preflight request for it.
 */
export function onlySqs(answer: RequestListener): RequestListener {
  return (request, response) => {
    const { method, url = "/", headers } = request;
    // Only the type itself counts: pages may send text/plain with any parameters.
    const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
    if (type === queryProtocol) return refuseQuery(response);
    if (method !== "POST" || (url !== "/" && !queuePath.test(url)) || type !== awsJson)
      return answerFault(response, {
        status: 404,
        type: "UnknownOperationException",
        message: `This port has the queues alone. A request is POST / with the Content-Type ${awsJson}, as the SDKs of AWS send it to SQS.`,
      });
    // The SDKs for Ruby and PHP send to the address of the queue, which is also in the body.
    request.url = "/";
    answer(request, response);
  };
}

/** In XML, as the clients of that protocol read it. */
function refuseQuery(response: ServerResponse): void {
  response.writeHead(415, { "content-type": "text/xml", "x-content-type-options": "nosniff" });
  response.end(
    `<ErrorResponse><Error><Type>Sender</Type><Code>UnsupportedProtocol</Code><Message>This port has the queues alone, in SQS's JSON protocol (Content-Type ${awsJson}), which the SDKs of AWS use since 2024. It takes no forms: neither SQS's query protocol nor SNS.</Message></Error></ErrorResponse>\n`,
  );
}
