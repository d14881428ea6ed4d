import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** The spellings in which a file can be sent, as in Content-Encoding. */
export type Encoding = "br" | "gzip" | "identity";

/** A file of the built page. */
export interface PageFile {
  type: string;
  etag: string;
  bytes: Readonly<Record<Encoding, Buffer>>;
}

/** The built page: its document, and the files that the document loads. */
export interface PageFiles {
  /** The text of index.html. */
  document: string;
  /** By their path below the page, such as `assets/main-1a2b3c4d.js`. */
  assets: ReadonlyMap<string, PageFile>;
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads the built page. The build has compressed its files beside them: `main.js.br`, `main.js.gz`. */
export function readPageFiles(directory: string): PageFiles {
  const document = path.join(directory, "index.html");
  if (!existsSync(document))
    throw new Error(
      `The page is not built: ${document} is missing; \`npm start\` and \`npm run build\` make it.`,
    );
  const names = readdirSync(path.join(directory, "assets"));
  const assets = names.flatMap((name): [string, PageFile][] => {
    const type = types[path.extname(name)];
    return type === undefined
      ? []
      : [[`assets/${name}`, readAsset(path.join(directory, "assets", name), type)]];
  });
  return { document: readFileSync(document, "utf8"), assets: new Map(assets) };
}

function readAsset(file: string, type: string): PageFile {
  const identity = readFileSync(file);
  const bytes = { identity, br: readFileSync(`${file}.br`), gzip: readFileSync(`${file}.gz`) };
  return { type, etag: etagOf(identity), bytes };
}

/** A small file that is made while serving, compressed fast. */
export function madeFile(text: string, type: string): PageFile {
  const identity = Buffer.from(text);
  const br = brotliCompressSync(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  return { type, etag: etagOf(identity), bytes: { identity, br, gzip: gzipSync(identity) } };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
}
