import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A registry that has one version of one package, on this machine. */
export interface Registry extends AsyncDisposable {
  url: string;
}

/** Serves the tarball of a package as npm asks for it. `manifest`: that of the package. */
export async function startRegistry(
  tarball: string,
  manifest: { name: string; version: string },
): Promise<Registry> {
  const bytes = readFileSync(tarball);
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const server = createServer((request, response) => {
    const { name, version } = manifest;
    if (request.url === `/${name}.tgz`) return response.end(bytes);
    if (request.url !== `/${name}`) return response.writeHead(404).end("{}");
    const dist = { tarball: `${url}/${name}.tgz`, integrity };
    response.setHeader("content-type", "application/json");
    return response.end(
      JSON.stringify({
        name,
        "dist-tags": { latest: version },
        versions: { [version]: { ...manifest, dist } },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
