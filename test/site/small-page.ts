import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll } from "vitest";
import { assemble } from "../../functions/page.ts";
import type { GatewayEvent } from "../../lib/api/request/incoming.ts";
import type { PageResponse } from "../../lib/site/serve-page.ts";
import { type EventParts, httpEvent, invocation } from "../api/http-event.ts";

/** A file of every type that a page loads, in the folder and with the names that the build gives. */
export const assets = {
  "assets/main-1a2b3c4d.js": `document.title = "Carillon — ${"x".repeat(500)}";`,
  "assets/main-5e6f7a8b.css": "body { color: black }",
  "assets/bell-9c0d1e2f.svg": '<svg xmlns="http://www.w3.org/2000/svg" />',
} as const;

export const script = "assets/main-1a2b3c4d.js";

/** Text of files that no request may get. */
export const outside = "outside of the page";

export interface SmallPage {
  /** The answer of the deployed function's handler. */
  answer(event: GatewayEvent): Promise<PageResponse>;
  /** The answer behind an HTTP API. */
  get(path: string, headers?: EventParts["headers"]): Promise<PageResponse>;
}

/** The real function, with a small built page in a folder of its own. */
export function smallPage(env: Record<string, string> = {}): SmallPage {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-page-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const built = path.join(folder, "page");
  mkdirSync(path.join(built, "assets"), { recursive: true });
  writeFileSync(path.join(folder, "secret.js"), outside);
  writeFileSync(path.join(built, "secret.js"), outside);
  writeFileSync(
    path.join(built, "index.html"),
    `<!doctype html><html><head><script type="module" src="./${script}"></script></head></html>`,
  );
  for (const [name, text] of Object.entries(assets)) {
    const file = path.join(built, name);
    writeFileSync(file, text);
    writeFileSync(`${file}.br`, brotliCompressSync(text));
    writeFileSync(`${file}.gz`, gzipSync(text));
  }
  const { handler } = assemble({ PAGE_DIRECTORY: built, ...env });
  const answer = (event: GatewayEvent) => handler(event, invocation);
  return { answer, get: (route, headers = {}) => answer(httpEvent("GET", route, { headers })) };
}

/** The text that a browser shows. */
export function textOf({ body, isBase64Encoded }: PageResponse): string {
  return isBase64Encoded ? Buffer.from(body, "base64").toString() : body;
}
