export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

const bodyBytesMax = 6 * 1024 * 1024;

/**
 * The response that an HTTP API of API Gateway makes of a function's result: a response object, or
 * a bare value, which it sends as JSON.
 */
export function httpAnswer(result: unknown): HttpAnswer {
  if (typeof result !== "object" || result === null || !("statusCode" in result)) {
    return gatewayAnswer(200, JSON.stringify(result ?? null));
  }
  const { statusCode } = result;
  if (
    typeof statusCode !== "number" ||
    !Number.isInteger(statusCode) ||
    statusCode < 200 ||
    statusCode > 599
  ) {
    return internalError();
  }
  const text = "body" in result && typeof result.body === "string" ? result.body : "";
  const isBase64 = "isBase64Encoded" in result && result.isBase64Encoded === true;
  const body = Buffer.from(text, isBase64 ? "base64" : "utf8");
  if (body.length > bodyBytesMax) return internalError();
  const headers = "headers" in result ? textFields(result.headers) : {};
  const cookies = "cookies" in result && Array.isArray(result.cookies) ? result.cookies.map(String) : [];
  return {
    status: statusCode,
    headers: {
      "content-type": "text/plain;charset=UTF-8",
      ...headers,
      ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
    },
    body,
  };
}

/** A response of the gateway itself, without the function. */
export function gatewayAnswer(status: number, body: string): HttpAnswer {
  return { status, headers: { "content-type": "application/json" }, body: Buffer.from(body) };
}

export function internalError(): HttpAnswer {
  return gatewayAnswer(500, '{"message":"Internal Server Error"}');
}

function textFields(headers: unknown): Record<string, string> {
  if (typeof headers !== "object" || headers === null) return {};
  const given = Object.entries(headers).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
