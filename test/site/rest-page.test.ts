import { describe, expect, test } from "vitest";
import { httpEvent } from "../api/http-event.ts";
import { restEvent } from "../api/rest-event.ts";
import { assets, script, smallPage } from "./small-page.ts";

const page = smallPage();
const get = (path: string, before = "/api", headers: Record<string, string> = {}) =>
  page.answer(restEvent(httpEvent("GET", path, { headers }), before));

describe("the page behind a REST API", () => {
  test("A REST API gets the page's files as text in no encoding, because it compresses them itself", async () => {
    for (const accepted of ["br, gzip", ""]) {
      const found = await get(`/${script}`, "/api", { "accept-encoding": accepted });
      expect(found).toMatchObject({ statusCode: 200, body: assets[script], isBase64Encoded: false });
      expect(found.headers).not.toHaveProperty("content-encoding");
    }
  });

  test("A REST API sends the page's document with the same headers as an HTTP API", async () => {
    for (const path of ["/", "/schedules/a"]) {
      const [rest, http] = [await get(path, "/api/"), await page.get(path)];
      expect(rest.headers).toEqual(http.headers);
    }
  });

  test("The root of a stage without a slash at its end is redirected to the one with a slash, so that relative links work", async () => {
    const stage = restEvent(httpEvent("GET", "/"), "");
    const at = (path: string) => page.answer({ ...stage, requestContext: { ...stage.requestContext, path } });
    expect(await at("/api")).toEqual({
      statusCode: 308,
      headers: { location: "./api/" },
      body: "",
      isBase64Encoded: false,
    });
    expect(await at("/team/carillon")).toMatchObject({ headers: { location: "./carillon/" } });
    const multiValueQueryStringParameters = { zone: ["Europe/Berlin"] };
    const shown = { ...stage.requestContext, path: "/api" };
    expect(
      await page.answer({ ...stage, multiValueQueryStringParameters, requestContext: shown }),
    ).toMatchObject({ headers: { location: "./api/?zone=Europe%2FBerlin" } });
    expect(new URL("./carillon/", "https://example.com/team/carillon").pathname).toBe("/team/carillon/");
    for (const path of ["/", "/api/", "/team/carillon/"])
      expect(await at(path)).toMatchObject({ statusCode: 200 });
  });

  test("A REST API's stage does not count as depth: links are relative to the page's root", async () => {
    expect((await get("/schedules")).body).toContain('<base href="./">');
    expect((await get("/schedules/a", "/team/api")).body).toContain('<base href="../">');
  });

  test("A known ETag is answered 304 behind a REST API, in any spelling of the header", async () => {
    const { headers } = await get(`/${script}`);
    const again = await get(`/${script}`, "/api", { "if-none-match": headers["etag"] ?? "" });
    expect(again).toMatchObject({ statusCode: 304, body: "" });
  });
});
