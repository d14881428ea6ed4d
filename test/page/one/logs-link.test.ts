import { describe, expect, test } from "vitest";
import { done, failed } from "../../../lib/target/delivery.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { byTokens, type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const template = "https://logs.example.com/search?q=job:{jobId}&from={from}&to={to}";

/** A job that has failed once, in a deployment that links its logs. */
async function linkedPage(): Promise<OwnPage> {
  const own = await ownPage("2026-03-29T01:00:00.000Z", {
    ...byTokens,
    pageEnv: { PAGE_LOGS_LINK: template },
  });
  const { world } = own;
  world.outcome = async ({ attempt }) => {
    await world.clock.advance(400);
    return attempt === 0 ? failed("Error: read ECONNRESET") : done;
  };
  await world.put("sync:ledger", { when: "in 1m", target: { lambda: "sync" }, retry: { base: "5m" } });
  for (let minutes = 0; minutes < 12; minutes++) {
    await world.clock.advance(60_000);
    await world.tick();
    await world.work();
  }
  return own;
}

describe.runIf(chromium !== undefined)("links to logs (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(linkedPage, (opened) => {
    ({ own, browser } = opened);
  });

  /** The address of a window that begins and ends a minute beside these instants. */
  function hrefOf(id: string, from: string | null, to: string | null): string {
    const beside = (at: string | null, ms: number) =>
      encodeURIComponent(new Date(Date.parse(at ?? "") + ms).toISOString());
    return `https://logs.example.com/search?q=job:${id}&from=${beside(from, -60_000)}&to=${beside(to, 60_000)}`;
  }

  test.each([390, 1_440])(
    "A job and each of its attempts link the log of their own time, in a new tab, at %i px",
    async (width) => {
      const [found] = (await own.client.jobs.list({ key: "sync:ledger" }).page()).items;
      const job = await own.client.jobs.get(found?.id ?? "");
      const [first, second] = job.attempts;
      const tab = await browser.tab({ width });
      await tab.open(`/jobs/${job.id}`);
      const links = tab.page.getByRole("link", { name: "Logs" });
      const hrefs = await Promise.all((await links.all()).map((link) => link.getAttribute("href")));
      expect(hrefs).toEqual([
        hrefOf(job.id, first?.plannedAt ?? null, first?.settledAt ?? null),
        hrefOf(job.id, second?.plannedAt ?? null, second?.settledAt ?? null),
        hrefOf(job.id, first?.plannedAt ?? null, second?.settledAt ?? null),
      ]);
      for (const link of await links.all()) {
        expect(await link.getAttribute("target")).toBe("_blank");
        expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
      }
      const faults = [...(await textFaults(tab.page)), ...(await axeFaults(tab.page))];
      await tab.page.emulateMedia({ colorScheme: "dark" });
      expect([...faults, ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );
});
