import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser } from "./browser.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import type { OwnPage } from "./own-page.ts";
import { group, restPage } from "./rest-filled.ts";
import { withBrowser } from "./with-browser.ts";

const views = [
  "/groups",
  `/groups/${encodeURIComponent(group)}`,
  "/limits",
  "/tokens",
  "/audit?action=schedule.patched",
  "/refused?id=1",
  "/refused?of=inbox",
  "/schedules?prefix=crm:",
  "/outages",
  "/quarantine",
];

const looks = [390, 1_440].flatMap((width) =>
  (["light", "dark"] as const).map((theme) => ({ width, theme })),
);

describe.runIf(chromium !== undefined)("the views of the menu (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(restPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each(looks)("Every view of the menu can be read at $width px in the $theme theme", async (look) => {
    const tab = await browser.tab(look);
    const faults: string[] = [];
    for (const view of views) {
      await tab.open(view);
      const closed = tab.page.locator("main details:not([open]) > summary, main .unfold");
      if ((await closed.count()) > 0) await closed.first().click();
      const found = [
        ...(await textFaults(tab.page)),
        ...(await axeFaults(tab.page)),
        ...tab.faults.splice(0),
      ];
      faults.push(...found.map((fault) => `${view}: ${fault}`));
    }
    await tab.close();
    expect(faults).toEqual([]);
  });

  test("A token with little scope sees only the views of the menu that it may read", async () => {
    const { token } = await own.client.tokens.create({ name: "reader", scope: "read", prefix: "crm:" });
    const tab = await browser.tab({ token });
    await tab.open("/");
    await tab.page.getByRole("button", { name: "More" }).click();
    expect(await tab.page.locator(".more-list a").allTextContents()).toEqual([
      "Groups",
      "Calendars",
      "Tokens",
      "Outages",
      "Quarantine",
    ]);
    await tab.open("/tokens");
    expect(await tab.page.getByRole("button", { name: "New token" }).count()).toBe(0);
    await tab.open("/schedules");
    expect(await tab.page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(0);
    await tab.open(`/groups/${encodeURIComponent(group)}`);
    expect(await tab.page.getByRole("button", { name: "Hold" }).count()).toBe(0);
    await tab.close();
  });

  test("Each problem of the first view leads to the list of what it counted", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    await tab.page.locator(".problems a.button").first().waitFor();
    const links = await tab.page.evaluate<string[]>(
      `[...document.querySelectorAll(".problems a.button")].map(({ pathname, search }) => pathname + search)`,
    );
    expect(links).toEqual(
      expect.arrayContaining(["/outages", "/refused", "/refused?of=inbox", "/quarantine"]),
    );
    await tab.page.locator('.problems a[href$="/outages"]').click();
    await tab.page
      .getByRole("row", { name: /No tick ran/ })
      .getByRole("link", { name: /Late jobs/ })
      .click();
    await tab.page.getByLabel("Late by at least").waitFor();
    expect(await tab.page.getByLabel("Late by at least").inputValue()).toBe("1s");
    await tab.close();
  });

  test("A filter of a link that has no field is shown, and can be dropped", async () => {
    const tab = await browser.tab();
    await tab.open("/jobs?state=dead&errorGroup=6bd632d72a69");
    const chips = tab.page.getByRole("list", { name: "Further filters" });
    expect(await chips.textContent()).toContain("error group that no listed job has");
    await tab.page.getByRole("button", { name: "Drop the filter error group" }).click();
    await chips.waitFor({ state: "detached" });
    expect(tab.page.url()).not.toContain("errorGroup");
    expect(tab.page.url()).toContain("state=dead");
    await tab.close();
  });

  test("The requests of these views are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});
