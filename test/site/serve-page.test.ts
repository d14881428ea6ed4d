import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { assemble } from "../../functions/page.ts";
import { httpEvent } from "../api/http-event.ts";
import { assets, outside, script, smallPage, textOf } from "./small-page.ts";

const page = smallPage();
const issued = smallPage({
  PAGE_ISSUER: "https://login.example.com/team$&/",
  PAGE_CLIENT_ID: 'page"><script>alert(1)</script>&amp;',
  PAGE_SCOPES: "openid carillon/read",
  PAGE_SIGN_IN_PARAMETERS: "audience=https://carillon.example.com/?a=b prompt=login",
  PAGE_CONNECT_ORIGINS: "https://tokens.example.com https://login.example.com",
});

describe("the document", () => {
  test("The page's document runs no inline script or style, loads nothing from elsewhere, and is framed by no site", async () => {
    const { statusCode, headers } = await page.get("/");
    expect(statusCode).toBe(200);
    const { etag, ...fixed } = headers;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(fixed).toEqual({
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
      "content-type": "text/html; charset=utf-8",
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
      "referrer-policy": "no-referrer",
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
  });

  test("The page may call the origins of its sign-in once each, and no other origin", async () => {
    const { headers } = await issued.get("/");
    expect(headers["content-security-policy"]).toContain(
      "; connect-src 'self' https://login.example.com https://tokens.example.com;",
    );
  });

  test("The document tells the page where its readers sign in, and no setting ends its element", async () => {
    const text = textOf(await issued.get("/schedules/a"));
    const [, escaped = ""] =
      /^.*<base href="..\/"><meta name="carillon-sign-in" content="([^"]*)">/.exec(text) ?? [];
    expect(escaped).not.toContain("<");
    const json = escaped.replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
    expect(JSON.parse(json)).toEqual({
      issuer: "https://login.example.com/team$&/",
      clientId: 'page"><script>alert(1)</script>&amp;',
      scope: "openid carillon/read",
      parameters: [
        ["audience", "https://carillon.example.com/?a=b"],
        ["prompt", "login"],
      ],
    });
  });

  test("The document tells the page the name of its installation, escaped, and none where none is set", async () => {
    const named = smallPage({ PAGE_NAME: `Billing "prod" <eu>` });
    expect(textOf(await named.get("/"))).toContain(
      '<meta name="carillon-name" content="Billing &quot;prod&quot; &lt;eu>">',
    );
    expect(textOf(await page.get("/"))).not.toContain("carillon-name");
  });

  test("The document tells the page where logs are, escaped, and its policy stays the same", async () => {
    const linked = smallPage({ PAGE_LOGS_LINK: `https://logs.example.com/?q="{jobId}"&a=<b>$&` });
    const answer = await linked.get("/");
    expect(textOf(answer)).toContain(
      '<meta name="carillon-logs-link" content="https://logs.example.com/?q=&quot;{jobId}&quot;&amp;a=&lt;b>$&amp;">',
    );
    expect(answer.headers["content-security-policy"]).toBe(
      (await page.get("/")).headers["content-security-policy"],
    );
  });

  test("A page with other settings of its sign-in has another ETag, and without them the document says nothing of it", async () => {
    const [one, other] = [await issued.get("/"), await page.get("/")];
    expect(one.headers["etag"]).not.toBe(other.headers["etag"]);
    expect(textOf(other)).not.toContain("<meta");
  });

  test("A page without all that a sign-in needs does not start, and names the missing variable", () => {
    expect(() => smallPage({ PAGE_ISSUER: "https://login.example.com" })).toThrow("PAGE_CLIENT_ID");
  });

  test.each([
    ["/", "./"],
    ["/schedules", "./"],
    ["/schedules/order:1", "../"],
    ["/schedules/order:1/edit", "../../"],
    ["/a/b/c/d/e/f", "../../../../../"],
    ["/assetsx", "./"],
  ])(
    "Every path without a file gets the page's document, with links relative to its depth: %s",
    async (path, base) => {
      const found = await page.get(path);
      expect(found.statusCode).toBe(200);
      expect(textOf(found)).toContain(`<head><base href="${base}"><script type="module" src="./${script}">`);
    },
  );

  test("Each depth of the page's document has an ETag of its own", async () => {
    const etags = await Promise.all(
      ["/", "/a/b", "/a/b/c"].map(async (path) => (await page.get(path)).headers["etag"]),
    );
    expect(new Set(etags).size).toBe(3);
  });

  test("A page that is not built is refused at the first event, with the command that builds it", () => {
    expect(() => assemble({ PAGE_DIRECTORY: "/nowhere" })).toThrow("`npm start` and `npm run build` make it");
  });
});

describe("an asset", () => {
  test.each([
    [script, "text/javascript; charset=utf-8"],
    ["assets/main-5e6f7a8b.css", "text/css; charset=utf-8"],
    ["assets/bell-9c0d1e2f.svg", "image/svg+xml"],
  ] as const)("An asset of the page is kept by browsers for ever, under its type: %s", async (name, type) => {
    const found = await page.get(`/${name}`);
    const { etag, ...fixed } = found.headers;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(fixed).toEqual({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": type,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
    });
    expect(textOf(found)).toBe(assets[name]);
  });

  test("An asset that the page does not have is a 404 that no browser keeps, since a later release may have it", async () => {
    expect(await page.get("/assets/main-00000000.js")).toEqual({
      statusCode: 404,
      headers: {
        "cache-control": "no-store",
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
      },
      body: "There is no such file.\n",
      isBase64Encoded: false,
    });
  });

  test.each([
    "/assets/../secret.js",
    "/assets/../../secret.js",
    "/assets/..%2f..%2fsecret.js",
    "/assets/..\\secret.js",
    "/assets//etc/passwd",
    "/assets/",
    "/assets/constructor",
    "/assets/__proto__",
    `/${script}.br`,
    "/secret.js",
    "/../secret.js",
    "/index.html",
  ])("No request gets a file that is not an asset of the page: %s", async (path) => {
    const found = await page.get(path);
    const isAsset = path.startsWith("/assets/");
    expect(found.statusCode).toBe(isAsset ? 404 : 200);
    expect(textOf(found)).not.toContain(outside);
    if (!isAsset) expect(textOf(found)).toContain("<!doctype html>");
  });
});

describe("encodings", () => {
  const decoded = { br: brotliDecompressSync, gzip: gunzipSync } as const;

  test.each([
    ["br, gzip", "br"],
    ["gzip, deflate, br;q=0.1", "br"],
    ["GZIP", "gzip"],
    ["br;q=0, gzip;q=1.0", "gzip"],
    ["br ; q=0.000 , gzip", "gzip"],
  ] as const)("A browser that accepts %s gets its files as %s", async (accepted, encoding) => {
    for (const path of ["/", `/${script}`]) {
      const { headers, body, isBase64Encoded } = await page.get(path, { "accept-encoding": accepted });
      expect(headers).toMatchObject({ "content-encoding": encoding, vary: "accept-encoding" });
      expect(isBase64Encoded).toBe(true);
      const text = decoded[encoding](Buffer.from(body, "base64")).toString();
      expect(text).toBe(textOf(await page.get(path)));
    }
  });

  test.each(["", "identity", "deflate, zstd", "br;q=0, gzip;q=0.0"])(
    "A browser that accepts neither br nor gzip gets plain files: %j",
    async (accepted) => {
      const found = await page.get(`/${script}`, { "accept-encoding": accepted });
      expect(found.headers).not.toHaveProperty("content-encoding");
      expect(textOf(found)).toBe(assets[script]);
    },
  );
});

describe("requests without a body to send", () => {
  test.each(["/", "/a/b", `/${script}`])(
    "A known ETag is answered 304 without a body or a type: %s",
    async (path) => {
      const { headers } = await page.get(path, { "accept-encoding": "br" });
      const etag = headers["etag"] ?? "";
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await page.get(path, { "if-none-match": known, "accept-encoding": "br" });
        expect(again).toMatchObject({ statusCode: 304, body: "", isBase64Encoded: false });
        expect(again.headers).toMatchObject({ etag, "cache-control": headers["cache-control"] });
        expect(again.headers).not.toHaveProperty("content-type");
        expect(again.headers).not.toHaveProperty("content-encoding");
      }
      expect(await page.get(path, { "if-none-match": '"other"' })).toMatchObject({ statusCode: 200 });
    },
  );

  test.each(["/", `/${script}`, "/assets/none.js"])(
    "HEAD has the headers of GET and no body: %s",
    async (path) => {
      const headers = { "accept-encoding": "gzip" };
      const got = await page.get(path, headers);
      const head = await page.answer(httpEvent("HEAD", path, { headers }));
      expect(head).toEqual({ ...got, body: "", isBase64Encoded: false });
    },
  );

  test.each(["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])(
    "The page answers 405 to %s, and names the beginning of the API's paths",
    async (method) => {
      const refused = await page.answer(httpEvent(method, "/schedules/a", { body: {} }));
      expect(refused).toMatchObject({
        statusCode: 405,
        headers: { allow: "GET, HEAD" },
        isBase64Encoded: false,
      });
      expect(refused.body).toContain("The API's paths begin with /v1.");
    },
  );
});
