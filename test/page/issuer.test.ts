import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";
import { type OwnBrowser, settled, type Tab } from "./browser.ts";
import { type IssuedPage, issuedPage } from "./issued-page.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import { tokenLifeSeconds } from "./own-issuer.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

const openPage = async () => {
  opened = await issuedPage("2026-03-29T00:30:00.000Z");
  return opened.own;
};
let opened: IssuedPage;

describe.runIf(chromium !== undefined)("the sign-in with an issuer in a browser (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;
  let tab: Tab;
  let page: Page;
  /** The address of each request, with what the browser says of where it came from. */
  let asked: { url: string; referer: string }[];

  withBrowser(openPage, (all) => {
    ({ own, browser } = all);
  });

  beforeEach(async () => {
    tab = await browser.tab({ token: null });
    ({ page } = tab);
    asked = [];
    page.on("request", (request) =>
      asked.push({ url: request.url(), referer: request.headers()["referer"] ?? "" }),
    );
  });
  afterEach(() => tab.close());

  const issuerButton = () => page.getByRole("button", { name: "Sign in with 127.0.0.1" });
  const signIn = async (path: string) => {
    await tab.open(path);
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await settled(page);
  };
  const tokenRequests = () => asked.filter(({ url }) => url === `${opened.issuer.url}/token`).length;
  const stored = () => page.evaluate<Record<string, string>>("({ ...sessionStorage })");
  const newestToken = () => [...opened.gateway.accepted].at(-1) ?? "";

  test("An issuer's button signs in, and opens the view of the address, which a reload keeps", async () => {
    await signIn("/holds?owner=ops");
    expect(page.url()).toBe(`${own.url}/holds?owner=ops`);
    await page.getByRole("heading", { name: "Holds" }).waitFor();
    const before = asked.length;
    await page.reload();
    await settled(page);
    await page.getByRole("heading", { name: "Holds" }).waitFor();
    expect(page.url()).toBe(`${own.url}/holds?owner=ops`);
    expect(asked.slice(before).filter(({ url }) => url.startsWith(opened.issuer.url))).toEqual([]);
    expect(tab.faults).toEqual([]);
    expect(own.contradictions).toEqual([]);
  });

  test("Neither code nor token is in an address that the page asks, in a Referer, in the history, or kept beyond the tab", async () => {
    await signIn("/schedules?prefix=a");
    const [answer, ...others] = asked.filter(({ url }) => new URL(url).searchParams.has("code"));
    expect(answer?.url.startsWith(`${own.url}/?`)).toBe(true);
    expect(others).toEqual([]);
    const code = new URL(answer?.url ?? "").searchParams.get("code") ?? "";
    const { "carillon.issued": tokens = "", ...rest } = await stored();
    expect(rest).toEqual({});
    const { access, refresh } = JSON.parse(tokens);
    const seen = await page.evaluate<unknown>(
      `[navigation.entries().map(({ url }) => url), JSON.stringify(history.state), document.cookie,
        JSON.stringify(localStorage), document.documentElement.outerHTML]`,
    );
    const afterwards = asked.filter((each) => each !== answer);
    for (const secret of [code, access, refresh]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(JSON.stringify([seen, afterwards])).not.toContain(secret);
    }
    expect(asked.filter(({ referer }) => referer.includes("code="))).toEqual([]);
  });

  test("A token is renewed shortly before its end, and the reader sees nothing of it", async () => {
    await signIn("/");
    const first = newestToken();
    await page.clock.fastForward((tokenLifeSeconds - 30) * 1_000);
    await until("the API gets another token", async () => newestToken() !== first);
    const second = newestToken();
    // Also long after its end, as when a computer wakes up.
    await page.clock.fastForward(3 * tokenLifeSeconds * 1_000);
    await until("the API gets a third token", async () => newestToken() !== second);
    await settled(page);
    expect(await issuerButton().count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });

  test("A token that the API refuses is renewed once for all requests of a view", async () => {
    await signIn("/");
    await page.getByRole("button", { name: "pause refresh" }).click();
    const before = tokenRequests();
    opened.gateway.refuseAccepted();
    await page.getByRole("link", { name: "Schedules", exact: true }).click();
    await page.getByText("There is no schedule yet").waitFor();
    await page.getByRole("link", { name: "Load" }).click();
    await settled(page);
    expect(tokenRequests()).toBe(before + 1);
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("A session that the issuer has ended says so, and one click signs in again and returns to the view", async () => {
    await signIn("/jobs?state=dead");
    await opened.issuer.endSessions();
    opened.gateway.refuseAccepted();
    // The list refreshes by itself.
    await page.clock.fastForward(20_000);
    const alert = page.getByRole("alert").filter({ hasText: "has ended" });
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/^The session at 127\.0\.0\.1:\d+ has ended\. Sign in again;/);
    expect(await stored()).toEqual({});
    await issuerButton().click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await settled(page);
    expect(page.url()).toBe(`${own.url}/jobs?state=dead`);
  });

  test("A token of the issuer that the API never accepts ends at the sign-in, which names its audience", async () => {
    await page.route(`${own.url}/v1/**`, (route) =>
      route.fulfill({ status: 401, json: { message: "Unauthorized" } }),
    );
    await tab.open("/");
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").filter({ hasText: "Its audience may be another one" }).waitFor();
    // The code's token, and one renewal.
    expect(tokenRequests()).toBe(2);
    expect(await stored()).toEqual({});
  });

  test("A refusal of the issuer is shown in its words, and the reader may try again", async () => {
    await tab.open("/holds?owner=ops");
    await issuerButton().click();
    await page.getByRole("button", { name: "Refuse" }).click();
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(
      /^127\.0\.0\.1:\d+ refused the sign-in: Ada is no operator of Carillon \(access_denied\)\.$/,
    );
    expect(page.url()).toBe(`${own.url}/holds?owner=ops`);
    expect(tokenRequests()).toBe(0);
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Holds" }).waitFor();
    expect(page.url()).toBe(`${own.url}/holds?owner=ops`);
  });

  test.each(["?code=stolen&state=foreign", "?code=stolen", "?error=access_denied&error_description=Call+us"])(
    "An answer that belongs to no sign-in of the tab is not used: %s",
    async (answer) => {
      await tab.open(`/${answer}`);
      const alert = page.getByRole("alert");
      await alert.waitFor();
      expect(await alert.textContent()).toContain("belongs to no sign-in of this tab");
      expect(page.url()).toBe(`${own.url}/`);
      expect(tokenRequests()).toBe(0);
      await signIn("/");
      await page.goto(`${own.url}/${answer}`);
      await settled(page);
      expect(await issuerButton().count()).toBe(0);
      expect(page.url()).toBe(`${own.url}/`);
    },
  );

  test("A foreign answer ends the sign-in that the tab waits for, and its code is not exchanged", async () => {
    await tab.open("/");
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).waitFor();
    await page.goto(`${own.url}/?code=stolen&state=foreign`);
    await page.getByRole("alert").filter({ hasText: "belongs to no sign-in" }).waitFor();
    expect(await stored()).toEqual({});
    expect(tokenRequests()).toBe(0);
  });

  test("A view whose path looks like another host is returned to, too", async () => {
    await signIn("//example.com/holds?zone=UTC");
    expect(page.url()).toBe(`${own.url}//example.com/holds?zone=UTC`);
  });

  test.each([
    ["nonce", "does not fit this sign-in"],
    ["verifier", "refused the sign-in"],
  ])("An answer to a sign-in with another %s gives the page no token", async (name, sentence) => {
    await tab.context.addInitScript(`if (location.search.includes("code=")) {
      const kept = JSON.parse(sessionStorage.getItem("carillon.sign-in"));
      sessionStorage.setItem("carillon.sign-in", JSON.stringify({ ...kept, ${name}: "${"x".repeat(43)}" }));
    }`);
    await tab.open("/holds");
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").filter({ hasText: sentence }).waitFor();
    expect(await stored()).toEqual({});
    expect(page.url()).toBe(`${own.url}/holds`);
  });

  test("An issuer that does not answer is said to, and nothing is lost", async () => {
    await page.route(`${opened.issuer.url}/**`, (route) => route.abort("connectionrefused"));
    await tab.open("/holds");
    await issuerButton().click();
    await page.getByRole("alert").filter({ hasText: "does not answer" }).waitFor();
    await page.unroute(`${opened.issuer.url}/**`);
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).waitFor();
  });

  test("A JWT of the issuer signs in when it is pasted, and signing out forgets all of it", async () => {
    await signIn("/");
    const token = newestToken();
    await page.getByRole("button", { name: "Keys and settings" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await issuerButton().waitFor();
    expect(await stored()).toEqual({});
    await page.getByText("Sign in with a token").click();
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Views" }).waitFor();
  });

  test("The library of the sign-in is loaded when the reader signs in, not before", async () => {
    const ofIssuer = () => asked.filter(({ url }) => /\/assets\/issuer-[\w-]+\.js$/.test(url)).length;
    await tab.open("/");
    expect(ofIssuer()).toBe(0);
    await issuerButton().click();
    await page.getByRole("button", { name: "Continue" }).waitFor();
    expect(ofIssuer()).toBe(1);
  });

  test.each([
    [1_440, "light"],
    [1_440, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)(
    "The sign-in has no clipped text and no serious finding of axe at %i px in %s colours",
    async (width, theme) => {
      const own = await browser.tab({ token: null, width, theme });
      await own.open("/?error=access_denied&error_description=no");
      await own.page.getByText("Sign in with a token").click();
      await own.page.getByRole("alert").waitFor();
      expect(await textFaults(own.page)).toEqual([]);
      expect(await axeFaults(own.page)).toEqual([]);
      await own.close();
    },
  );
});
