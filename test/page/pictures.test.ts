import path from "node:path";
import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { Look, OwnBrowser } from "./browser.ts";
import { deadKey, filledPage, gapKey } from "./filled.ts";
import { withBrowser } from "./with-browser.ts";

/** `npm run pictures` keeps them in docs/page. */
const folder = process.env["CARILLON_PICTURES"];

interface Picture {
  name: string;
  view: string;
  look: Partial<Look>;
}

const pictures: Picture[] = [
  { name: "now", view: "/", look: { width: 1_200 } },
  { name: "schedule", view: `/schedules/${deadKey}?why=2026-03-29T01:30:00.000Z`, look: { width: 1_200 } },
  { name: "edit", view: `/schedules/${gapKey}/edit`, look: { width: 1_200 } },
  { name: "phone", view: "/", look: { width: 390, theme: "dark" } },
];

describe.runIf(chromium !== undefined)("the pictures of docs/page.md (need Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    browser = opened.browser;
  });

  test.each(pictures)("The picture `$name` of docs/page.md can be taken", async ({ name, view, look }) => {
    const tab = await browser.tab(look);
    await tab.open(view);
    expect(await tab.page.locator("main h1").first().isVisible()).toBe(true);
    await tab.page.screenshot(folder === undefined ? {} : { path: path.join(folder, `${name}.png`) });
    expect(tab.faults).toEqual([]);
    await tab.close();
  });
});
