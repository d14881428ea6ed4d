import { type GatewayEvent, type Incoming, incomingFrom } from "../api/request/incoming.ts";
import { type Encoding, madeFile, type PageFile, type PageFiles } from "./page-files.ts";
import { assetHeaders, documentHeaders, type PageReach } from "./page-headers.ts";
import { type PageSettings, withSettings } from "./with-settings.ts";

/** A response of a function behind API Gateway. */
export interface PageResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: boolean;
}

/**
 * Answers GET and HEAD: files below `assets/`, and the document for every other path, because the
 * page finds its view itself.
 */
export function makePage(
  files: PageFiles,
  { connect, ...settings }: PageReach & PageSettings,
): (event: GatewayEvent) => PageResponse {
  const document = withSettings(files.document, settings);
  const documents = new Map<number, PageFile>();
  const documentAt = (depth: number): PageFile => {
    const known = documents.get(depth);
    if (known !== undefined) return known;
    const made = madeFile(withBase(document, depth), "text/html; charset=utf-8");
    if (depth <= keptDepthMax) documents.set(depth, made);
    return made;
  };
  const headers = documentHeaders({ connect });
  const answerTo = (event: GatewayEvent, incoming: Incoming) => {
    const request = { incoming, isBinary: "rawPath" in event };
    const folder = rootWithoutSlash(event, incoming);
    if (folder !== null) return redirect(`./${folder}/${incoming.query === "" ? "" : `?${incoming.query}`}`);
    const path = incoming.path.slice(1);
    if (!path.startsWith("assets/")) return sent(request, documentAt(path.split("/").length - 1), headers);
    const asset = files.assets.get(path);
    return asset === undefined ? missing() : sent(request, asset, assetHeaders);
  };
  return (event) => {
    const incoming = incomingFrom(event);
    if (incoming.method === "GET") return answerTo(event, incoming);
    if (incoming.method !== "HEAD") return notAllowed();
    return { ...answerTo(event, incoming), body: "", isBase64Encoded: false };
  };
}

/** No view has more segments; deeper paths show the page's "not found". */
const keptDepthMax = 4;

/**
 * The document's links are relative to the page's root. Where that is, only the browser knows: a
 * stage, a base path or a proxy may precede the path that arrives here.
 */
function withBase(document: string, depth: number): string {
  const base = depth === 0 ? "./" : "../".repeat(depth);
  return document.replace("<head>", `<head><base href="${base}">`);
}

/**
 * The last segment of the whole path if the request is for the page's root, without a slash at its
 * end: relative links would miss that segment. A REST API's stage is reached so: `/api`.
 */
function rootWithoutSlash(event: GatewayEvent, { path }: Incoming): string | null {
  if ("rawPath" in event || path !== "/") return null;
  const whole = event.requestContext.path;
  return whole.endsWith("/") ? null : (whole.split("/").at(-1) ?? null);
}

interface PageRequest {
  incoming: Incoming;
  /**
   * Whether the gateway takes bytes in base64. An HTTP API does; a REST API takes texts, and
   * compresses them itself.
   */
  isBinary: boolean;
}

function sent(
  { incoming, isBinary }: PageRequest,
  file: PageFile,
  own: Readonly<Record<string, string>>,
): PageResponse {
  const headers = { ...own, "content-type": file.type, etag: file.etag, vary: "accept-encoding" };
  if (isKnown(incoming.headers["if-none-match"], file.etag)) {
    const { "content-type": _, ...rest } = headers;
    return { statusCode: 304, headers: rest, body: "", isBase64Encoded: false };
  }
  if (!isBinary)
    return { statusCode: 200, headers, body: file.bytes.identity.toString(), isBase64Encoded: false };
  const encoding = encodingOf(incoming.headers["accept-encoding"]);
  return {
    statusCode: 200,
    headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding },
    body: file.bytes[encoding].toString("base64"),
    isBase64Encoded: true,
  };
}

function isKnown(header: string | undefined, etag: string): boolean {
  const tags = header?.split(",").map((each) => each.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}

/** The smallest encoding that the browser accepts. A quality of 0 refuses one. */
function encodingOf(header = ""): Encoding {
  const accepted = new Set(
    header.split(",").flatMap((each) => {
      const [name = "", ...parameters] = each
        .toLowerCase()
        .split(";")
        .map((part) => part.trim());
      return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
    }),
  );
  return (["br", "gzip"] as const).find((each) => accepted.has(each)) ?? "identity";
}

const plain = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };

function missing(): PageResponse {
  const headers = { ...plain, "cache-control": "no-store" };
  return { statusCode: 404, headers, body: "There is no such file.\n", isBase64Encoded: false };
}

function notAllowed(): PageResponse {
  const headers = { ...plain, allow: "GET, HEAD" };
  return {
    statusCode: 405,
    headers,
    body: "The page answers GET and HEAD. The API's paths begin with /v1.\n",
    isBase64Encoded: false,
  };
}

function redirect(location: string): PageResponse {
  return { statusCode: 308, headers: { location }, body: "", isBase64Encoded: false };
}
