import type { Fault, ProblemDocument } from "./problem.ts";

/** Errors of gateways and proxies have other bodies; they become a problem as well. */
export function problemOf(response: Response, text: string): ProblemDocument {
  const found = objectIn(text);
  const { status } = response;
  const title = textIn(found, "title") ?? (response.statusText || `HTTP ${status}`);
  const requestId = textIn(found, "requestId") ?? idInHeaders(response.headers);
  const errors = faultsIn(found);
  const movedTo = textIn(found, "movedTo");
  return {
    type: textIn(found, "type") ?? "about:blank",
    title,
    status,
    detail: textIn(found, "detail") ?? `${status}: ${textIn(found, "message") ?? title}`,
    ...(errors.length === 0 ? {} : { errors }),
    ...(movedTo === undefined ? {} : { movedTo }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

/** The headers with the id of a request: the API's, and those of gateways of AWS. */
const idHeaders = ["request-id", "apigw-requestid", "x-amzn-requestid"];

function idInHeaders(headers: Headers): string | undefined {
  return idHeaders.map((name) => headers.get(name)).find((id) => id !== null && id !== "") ?? undefined;
}

function objectIn(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function textIn(object: object, name: string): string | undefined {
  const value: unknown = Reflect.get(object, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function faultsIn(object: object): Fault[] {
  const errors: unknown = Reflect.get(object, "errors");
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null) return [];
    const message = textIn(each, "message");
    return message === undefined ? [] : [{ path: textIn(each, "path") ?? "", message }];
  });
}
