import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the spread of the load (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    async () => {
      const filled = await ownPage("2026-03-02T22:30:00.000Z");
      await filled.client.batch(together("night", 40));
      return filled;
    },
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  const together = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      put: { key: `${name}:${n}`, when: "0 0 * * *", target: { queue: "crm" } },
    }));

  test("Back at no spread the load has the numbers of the newest answer", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?zone=UTC");
    await page.getByText("The heaviest minute has 40 runs").waitFor();
    await own.client.batch(together("late", 20));
    const slider = page.getByRole("slider", { name: "What if" });
    await slider.press("ArrowRight");
    await page.getByText("the busiest minute still has 60 runs").waitFor();
    await slider.press("ArrowLeft");
    await page.getByText("The heaviest minute has 60 runs").waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("The minutes of the load lead to their expressions, and look like links", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?zone=UTC&prefix=night");
    const minutes = page.locator("main p a.link:has(time)");
    const links = await minutes.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
    // The lead, the line of midnight, the minute of the curve and the busiest minutes.
    expect(links.length).toBeGreaterThanOrEqual(4);
    for (const link of links) expect(link).toMatch(/prefix=night.*rows=expressions/);
    const midnight = page.getByText("Around midnight").getByRole("link");
    expect(
      await page.evaluate("getComputedStyle(document.querySelector('.what-if .quiet a')).textDecorationLine"),
    ).toBe("underline");
    await midnight.click();
    await page.getByText("40 runs", { exact: true }).waitFor();
    await page.getByRole("link", { name: "night:0" }).waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "The slider of the spread stays in its place, and shows its value and its marks before it is moved, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open("/load?zone=UTC");
      await page.locator("label", { hasText: "no spread" }).waitFor();
      const scale = page.locator(".spread-scale");
      expect(await scale.getByRole("listitem", { includeHidden: true }).allInnerTexts()).toEqual([
        "0",
        "1m",
        "2m",
        "5m",
        "10m",
        "15m",
        "30m",
        "1h",
      ]);
      const slider = page.getByRole("slider", { name: "What if" });
      const before = await slider.boundingBox();
      await slider.press("End");
      await page.locator("label", { hasText: "over 1h" }).waitFor();
      await page.getByText("With a spread of 1h, the busiest minute has 1 run instead of 60.").waitFor();
      expect(await slider.boundingBox()).toEqual(before);
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );
});
