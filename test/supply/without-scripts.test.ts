import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isPageFresh } from "../../infra/tools/package/own-page.ts";
import { copyClone, postgresPackage } from "./clone-copy.ts";

const token = "test-token";

/** The environment of a user whose npm runs no scripts at an install. */
function environment(folder: string): NodeJS.ProcessEnv {
  const { DATABASE_URL: _, NODE_ENV: __, ...inherited } = process.env;
  return {
    ...inherited,
    PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`,
    npm_config_ignore_scripts: "true",
    npm_config_offline: "true",
    ...{ CARILLON_PORT: "0", CARILLON_SQS_PORT: "0", CARILLON_EVENTS_PORT: "0" },
    ...{ CARILLON_DATA_DIR: path.join(folder, "data"), CARILLON_TOKEN: token },
  };
}

/** `npm start` in the folder; its output, the address of its API, and its end. */
async function npmStart(folder: string) {
  const child = spawn("npm", ["start", "--silent"], {
    cwd: folder,
    env: environment(folder),
    stdio: ["ignore", "pipe", "pipe"],
    // npm starts programs of its own, which are ended with it.
    detached: true,
  });
  const closed = once(child, "close");
  const lines: string[] = [];
  const api = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        const [, found] = /^carillon ready api=(\S+) /.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      });
    void closed.then(() => reject(new Error(`The stack did not start:\n${lines.join("\n")}`)));
  });
  const end = async () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await closed;
  };
  return { api, lines, end };
}

// The stack starts after a build of the page, which takes many times as long on a busy machine.
describe("a clone after `npm ci --ignore-scripts`", { timeout: 240_000 }, () => {
  let folder: string;
  let stack: Awaited<ReturnType<typeof npmStart>>;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-clone-"));
    // Postgres runs as another user where the tests run as root.
    chmodSync(folder, 0o755);
    copyClone(folder);
    stack = await npmStart(folder);
  }, 240_000);

  afterAll(async () => {
    await stack.end();
    rmSync(folder, { recursive: true, force: true });
  });

  test("npm start takes a schedule, and makes the links that the script of Postgres' package did not make", async () => {
    const put = await fetch(`${stack.api}/v1/schedules/hello`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ when: "in 1h", target: { event: {} } }),
    });
    expect(put.status).toBe(201);
    const native = path.join(folder, postgresPackage, "native");
    const links: { target: string }[] = JSON.parse(
      readFileSync(path.join(native, "pg-symlinks.json"), "utf8"),
    );
    expect(links.length).toBeGreaterThan(0);
    for (const { target } of links) expect(existsSync(path.join(native, "..", target)), target).toBe(true);
  });

  test("npm start says that it builds the page, and serves it with its scripts", async () => {
    expect(stack.lines).toContainEqual(expect.stringMatching(/^Building the page in dist\/page/));
    const page = await fetch(stack.api);
    expect(page.status).toBe(200);
    const [, script = ""] = /<script [^>]*src="([^"]+)"/.exec(await page.text()) ?? [];
    const loaded = await fetch(new URL(script, `${stack.api}/`));
    expect([loaded.status, loaded.headers.get("content-type")]).toEqual([
      200,
      "text/javascript; charset=utf-8",
    ]);
  });

  test("npm start builds the page again only after a change of what it is built from", () => {
    expect(isPageFresh(folder)).toBe(true);
    const changed = (file: string) => {
      const text = readFileSync(path.join(folder, file), "utf8");
      writeFileSync(path.join(folder, file), `${text}\n`);
      const isFresh = isPageFresh(folder);
      writeFileSync(path.join(folder, file), text);
      expect(isPageFresh(folder)).toBe(true);
      return !isFresh;
    };
    expect(changed("lib/page/main.tsx")).toBe(true);
    expect(changed("lib/page/index.html")).toBe(true);
    expect(changed("lib/client/main.ts")).toBe(true);
    expect(changed("lib/config/page-name.ts")).toBe(true);
    expect(changed("package-lock.json")).toBe(true);
    expect(changed("lib/tick/tick.ts")).toBe(false);
    const added = path.join(folder, "lib", "page", "look", "added.css");
    writeFileSync(added, "");
    expect(isPageFresh(folder)).toBe(false);
    rmSync(added);
    rmSync(path.join(folder, "dist", "page", "index.html"));
    expect(isPageFresh(folder)).toBe(false);
  });

  test("the command and the modules of the clone are its sources, which no build makes", () => {
    const env = environment(folder);
    const cli = path.join(folder, "lib", "cli", "main.ts");
    expect(execFileSync(cli, ["help"], { env, encoding: "utf8" })).toContain("carillon <command>");
    const use = `import { Carillon } from "carillon"; import { defineJob } from "carillon/job";
      console.log(typeof Carillon, typeof defineJob);`;
    const said = execFileSync(process.execPath, ["--input-type=module", "--eval", use], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    expect(said.trim()).toBe("function function");
  });
});
