import { describe, expect, test } from "vitest";
import { Carillon } from "../../../lib/client/main.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser, Tab } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)(
  "holds that were set for more keys than a token reaches (need Chromium)",
  () => {
    let browser: OwnBrowser;
    /** The secret of a team's admin. */
    let team: string;

    withBrowser(held, (opened) => {
      ({ browser } = opened);
    });

    /** Three schedules of a team: one hold on all of them, of which the team has set two, and one of their group. */
    async function held(): Promise<OwnPage> {
      const page = await ownPage("2026-03-02T10:00:00.000Z");
      const { client } = page;
      for (const key of ["crm:1", "crm:2", "crm:3"])
        await client.schedules.put(key, { when: "0 9 * * *", target: { queue: "crm" }, group: "crm" });
      const { token } = await client.tokens.create({ name: "crm team", scope: "admin", prefix: "crm:" });
      team = token;
      const own = new Carillon({ url: page.url, token });
      const night = { owner: "night", reason: "the move" };
      await own.schedules.pause("crm:1", night);
      await own.schedules.pause("crm:2", night);
      await client.schedules.pause("crm:3", night);
      await client.schedules.pause("crm:1", { owner: "attack", reason: "an attack" });
      await client.groups.pause("crm", { reason: "stocktaking" });
      return page;
    }

    const text = "set for all keys: only a token of all keys lifts it";
    const rowOf = ({ page }: Tab, words: string) =>
      page.locator("main [data-row]").filter({ hasText: words });

    test.each([390, 1_440])(
      "The board says which token lifts them, and has no button, at %i px",
      async (width) => {
        const tab = await browser.tab({ width, token: team });
        await tab.open("/holds");
        for (const words of ["an attack", "stocktaking"]) {
          await rowOf(tab, words).getByText(text).waitFor();
          expect(await rowOf(tab, words).getByRole("button", { name: "Release …" }).count()).toBe(0);
        }
        expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
        await tab.close();
      },
    );

    test("A release of holds that were set together leaves the wider ones, and names their number", async () => {
      const tab = await browser.tab({ token: team });
      await tab.open("/holds");
      await rowOf(tab, "the move").getByRole("button", { name: "Release …" }).click();
      const dialog = tab.page.getByRole("alertdialog");
      const stays = "1 other hold of this row stays: set by a token that reaches more keys than yours.";
      await dialog.getByText(stays).waitFor();
      await dialog.getByRole("button", { name: "Release 2 schedules" }).click();
      await dialog.getByText(stays).and(dialog.getByRole("status")).waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      await rowOf(tab, "the move").getByText(text).waitFor();
      await tab.close();
    });

    test("The group and the schedule say it too", async () => {
      const tab = await browser.tab({ token: team });
      await tab.open("/groups/crm");
      await tab.page.getByText(text).waitFor();
      expect(await tab.page.getByRole("button", { name: "Release …" }).count()).toBe(0);
      await tab.open("/schedules/crm:1");
      await tab.page.getByText(`The hold of attack: ${text}`).waitFor();
      expect(await tab.page.getByRole("button", { name: /^Release the hold/ }).count()).toBe(0);
      await tab.close();
    });
  },
);
