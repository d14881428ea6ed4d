import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { emptyPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { adminToken, type OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const run = promisify(execFile);
const main = path.join(import.meta.dirname, "..", "..", "..", "lib", "cli", "main.ts");

const long = Array.from({ length: 2_000 }, (_, n) => `line ${n} of a long payload`);

describe.runIf(chromium !== undefined)("the fields of one schedule (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(emptyPage, async (opened) => {
    ({ own, browser } = opened);
    await own.world.put(
      "plain",
      { when: "every 5m", target: { queue: "demo" }, payload: { order: 4711 } },
      "ops",
    );
    await own.world.put(
      "rich",
      {
        when: "0 9 * * *",
        target: { webhook: { url: "https://hooks.example.com/orders" } },
        payload: long,
        retry: { attempts: 3, backoff: "fixed", base: "20s" },
        catchUp: { policy: "all", limit: 20, within: "6h" },
        overlap: "skip",
        maxFires: 9,
        spread: "10m",
        deadline: "5m",
        endsAt: "2027-01-01T00:00:00Z",
        priority: "high",
      },
      "ops",
    );
  });

  async function fieldsOf(key: string): Promise<Record<string, string>> {
    const tab = await browser.tab();
    await tab.open(`/schedules/${key}`);
    const rows = await tab.page.locator(".definition > div").all();
    const fields = await Promise.all(
      rows.map(async (row) => [await row.locator("dt").innerText(), await row.locator("dd").innerText()]),
    );
    expect(tab.faults).toEqual([]);
    await tab.close();
    return Object.fromEntries(fields);
  }

  test("A schedule shows its target, payload and default policies without its editor", async () => {
    expect(await fieldsOf("plain")).toEqual({
      target: "queue demo",
      payload: '{\n  "order": 4711\n}',
      retry: "5 attempts, exponential from 10s up to 1h (default)",
      timeout: "30s for an attempt (default)",
      catchUp: "latest: only the latest missed run is made up (default)",
      overlap: "runs may overlap (default)",
      deadline: "none: late runs run (default)",
      maxFires: "no limit (default)",
      spread: "none (default)",
    });
  });

  test("A schedule shows the policies that are set, and folds a long payload", async () => {
    const { endsAt, ...fields } = await fieldsOf("rich");
    expect(fields).toEqual({
      target: "webhook POST https://hooks.example.com/orders",
      payload: "2,002 lines of JSON",
      retry: "3 attempts, 20s apart, without jitter",
      timeout: "30s for an attempt (default)",
      catchUp: "all: the newest 20 missed runs are made up, if no older than 6h",
      overlap: "skipped while an earlier run is not over",
      deadline: "skipped when more than 5m late",
      maxFires: "ends after 9 runs",
      spread: "runs move by up to 10m, by the key",
      priority: "high",
    });
    expect(endsAt).toContain("2027");
  });

  test("The spread stands beside the times of a schedule", async () => {
    const tab = await browser.tab();
    await tab.open("/schedules/rich");
    await tab.page.getByText("at 09:00 every day, UTC, moved by up to 10m; active").waitFor();
    await tab.close();
  });

  test("The end of a hold names the screen's zone beside a time of another zone, and names are set apart", async () => {
    await own.world.put(
      "held",
      { when: "0 9 * * *", timezone: "America/New_York", target: { queue: "demo" } },
      "ops",
    );
    await own.client.schedules.pause("held", { owner: "now", until: "2026-03-29T09:18:00Z" });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/held?zone=UTC");
    const line = page.locator(".schedule-head p", { hasText: "held by" });
    expect(await line.innerText()).toMatch(
      /, America\/New_York; held by now until 09:18 UTC; version 2, saved by ops$/,
    );
    expect(await line.locator(".mono").allInnerTexts()).toEqual(["now", "ops"]);
    await tab.open("/schedules?prefix=held&zone=UTC");
    await page.getByText("held until 09:18 UTC").waitFor();
    await tab.open("/schedules?prefix=held&zone=America/New_York");
    await page.getByText(/held until tomorrow 05:18$/).waitFor();
    await tab.close();
  });

  test("The command beside an explanation runs as it is copied", async () => {
    const tab = await browser.tab();
    await tab.open("/schedules/plain?why=2027-01-01T09:00:00Z");
    const { page } = tab;
    await page.locator(".why .sentence").waitFor();
    const copied = (await page.locator(".why > .copy").getAttribute("title")) ?? "";
    const [name, ...words] = copied.replace(/^Copy: /, "").split(" ");
    expect(name).toBe("carillon");
    const { stdout } = await run(process.execPath, [main, ...words], {
      env: { ...process.env, CARILLON_URL: own.url, CARILLON_TOKEN: adminToken },
    });
    expect(stdout).toContain("2027-01-01 09:00");
    await tab.close();
  });

  test("The explanation of an instant of a deleted schedule names the zone of its time", async () => {
    await own.world.put("gone", { when: "0 9 * * *", target: { queue: "demo" } }, "ops");
    await own.client.schedules.delete("gone");
    const tab = await browser.tab();
    await tab.open("/schedules/gone?why=2026-03-29T00:30:00.929Z");
    await tab.page.getByText(/^2026-03-29 01:30\S* Europe\/Berlin$/).waitFor();
    await tab.close();
  });

  test.each([390, 1_440])(
    "A deleted key shows its last rule and target and its versions, at %i px",
    async (width) => {
      const key = `gone:by-night:${width}`;
      await own.world.put(key, { when: "0 9 * * *", target: { queue: "demo" } }, "ops");
      await own.client.schedules.delete(key);
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(`/schedules/${key}`);
      await page.getByText("deleted").and(page.locator(".schedule-head p")).waitFor();
      const values = page.locator(".definition dd");
      expect(await values.allInnerTexts()).toEqual(["0 9 * * *", "UTC", "queue demo"]);
      expect(await page.locator(".versions li b").allInnerTexts()).toEqual(["2", "1"]);
      const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
      await page.emulateMedia({ colorScheme: "dark" });
      expect([...faults, ...(await axeFaults(page))]).toEqual([]);
      await page.getByRole("link", { name: "a different schedule can have it" }).click();
      await page.getByRole("heading", { name: "New schedule" }).waitFor();
      await tab.close();
    },
  );

  test.each([390, 1_440])("A payload of any length can be read at %i px, up to a bound", async (width) => {
    const tab = await browser.tab({ width });
    const { page } = tab;
    await tab.open("/schedules/rich");
    await page.getByText("2,002 lines of JSON").click();
    await page.getByText(/Its first 20,000 of [\d,]+ characters/).waitFor();
    // The click may have scrolled the texts under the head of the page.
    await page.evaluate("scrollTo(0, 0)");
    const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
    await page.emulateMedia({ colorScheme: "dark" });
    expect([...faults, ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});
