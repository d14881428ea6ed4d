import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { advisories } from "../../lib/tools/supply/advisories.ts";

const advice = {
  id: 1,
  url: "https://example.com/advisory/1",
  title: "Reads beyond its end",
  severity: "high",
  vulnerable_versions: "<2.0.0",
};

let folder: string;
let stop = new AsyncDisposableStack();

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-advisories-"));
  const manifest = { name: "project", version: "1.0.0", dependencies: { weak: "1.0.0" } };
  const weak = { version: "1.0.0", integrity: `sha512-${"A".repeat(86)}==` };
  const packages = { "": manifest, "node_modules/weak": weak };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(
    path.join(folder, "package-lock.json"),
    JSON.stringify({ name: "project", version: "1.0.0", lockfileVersion: 3, requires: true, packages }),
  );
});

afterEach(async () => {
  await stop.disposeAsync();
  stop = new AsyncDisposableStack();
  rmSync(folder, { recursive: true, force: true });
});

/** A registry at which npm looks by the folder's own settings. Returns its address. */
async function registry(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stop.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  writeFileSync(path.join(folder, ".npmrc"), `registry=${url}\ncache=${path.join(folder, "cache")}\n`);
  return url;
}

const withAdvisories =
  (told: object): RequestListener =>
  (request, response) => {
    response.setHeader("content-type", "application/json");
    const weak = { name: "weak", version: "1.0.0", dist: { tarball: "http://127.0.0.1/weak.tgz" } };
    const versions = { name: "weak", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": weak } };
    response.end(JSON.stringify(request.method === "POST" ? told : versions));
  };

test("the audit fails for a package that an advisory of the registry names", async () => {
  await registry(withAdvisories({ weak: [advice] }));
  expect(await advisories(folder)).toEqual({
    faults: ["weak <2.0.0: high: Reads beyond its end https://example.com/advisory/1"],
  });
});

test("the audit passes where the registry has no advisory for a package", async () => {
  await registry(withAdvisories({}));
  expect(await advisories(folder)).toEqual({ faults: [] });
});

test("the audit skips advisories with the reason where the registry has none to give", async () => {
  await registry((_, response) => response.writeHead(405).end());
  expect(await advisories(folder)).toEqual({ skipped: expect.stringContaining("405") });
});

test("the audit skips advisories with the reason where no registry can be reached", async () => {
  const url = await registry(() => {});
  await stop.disposeAsync();
  stop = new AsyncDisposableStack();
  expect(await advisories(folder)).toEqual({ skipped: expect.stringContaining(new URL(url).port) });
});
