import { describe, expect, test } from "vitest";
import { Carillon } from "../../../lib/client/main.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser, Tab } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("releases on the board of holds (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;
  let eveToken: string;

  withBrowser(held, (opened) => {
    ({ own, browser } = opened);
  });

  /** Three groups of keys: a bulk hold of eve, a group and a tag that ops holds, and single holds. */
  async function held(): Promise<OwnPage> {
    const page = await ownPage("2026-03-02T10:00:00.000Z");
    const { client } = page;
    const later = { when: "0 9 * * *", target: { queue: "crm" } };
    const made = (prefix: string, amount: number, more: object) =>
      client.batch(
        Array.from({ length: amount }, (_, n) => ({
          put: { key: `${prefix}:${String(n).padStart(4, "0")}`, ...later, ...more },
        })),
      );
    await made("crm", 30, {});
    await made("crew", 5, { group: "crew" });
    await made("bell", 4, { tags: ["bells"] });
    await made("one", 3, {});
    const { token } = await client.tokens.create({ name: "eve", scope: "write" });
    eveToken = token;
    const eve = new Carillon({ url: page.url, token });
    await eve.schedules.changeMany({ verb: "pause", filter: { prefix: "crm:" }, reason: "the move" });
    await eve.schedules.pause("one:0000", { reason: "by eve" });
    await client.schedules.pause("one:0001", { reason: "by its operator" });
    await client.schedules.pause("crm:0003", { reason: "a second hold" });
    await client.schedules.pause("crew:0002", { reason: "of its own" });
    await client.groups.pause("crew", { reason: "the crew is away" });
    await client.tags.pause("bells", { reason: "too loud" });
    return page;
  }

  const rowOf = ({ page }: Tab, text: string) => page.locator("main [data-row]").filter({ hasText: text });
  const release = (tab: Tab, text: string) => rowOf(tab, text).getByRole("button", { name: "Release …" });
  const dialog = ({ page }: Tab) => page.getByRole("alertdialog");

  async function boardAt(look: Parameters<OwnBrowser["tab"]>[0] = {}): Promise<Tab> {
    const tab = await browser.tab(look);
    await tab.open("/holds");
    return tab;
  }

  test.each([390, 1_440])(
    "A schedule that a tag or a group holds says so, and leads to where it is released, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/schedules/bell:0000");
      await page
        .getByText("held by ops through the hold of the tag bells (“too loud”) without an end")
        .waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await page.getByRole("link", { name: "hold of the tag bells" }).click();
      await release(tab, "too loud").waitFor();
      await page.goto(`${own.url}/schedules/crew:0000`);
      await page.getByRole("link", { name: "hold of the group crew" }).click();
      await page.getByRole("button", { name: "Release …" }).waitFor();
      await tab.close();
    },
  );

  test("A filter that no hold matches says so, and can be removed", async () => {
    const tab = await browser.tab();
    await tab.open("/holds?owner=first");
    await tab.page.getByText("No hold matches.").waitFor();
    await tab.page.getByRole("link", { name: "Show all holds" }).click();
    await rowOf(tab, "too loud").waitFor();
    expect(await tab.page.getByLabel("Owner").inputValue()).toBe("");
    await tab.close();
  });

  test("The runs that a dialog names are still to come while it stays open", async () => {
    await own.client.schedules.put("soon", { when: "every 5m", target: { queue: "crm" } });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/soon");
    await page.getByRole("button", { name: "Hold …" }).click();
    await dialog(tab).locator("li").nth(4).waitFor();
    await page.clock.runFor(6 * 60_000);
    await dialog(tab).locator("li").nth(4).waitFor({ state: "detached" });
    expect(await dialog(tab).innerText()).not.toContain("ago");
    await tab.close();
  });

  test("Enter in the reason of a dialog does what its button does, once", async () => {
    await own.client.schedules.put("enter", { when: "0 9 * * *", target: { queue: "crm" } });
    const tab = await browser.tab();
    await tab.open("/schedules/enter");
    await tab.page.getByRole("button", { name: "Hold …" }).click();
    const reason = dialog(tab).getByLabel(/^Reason/);
    await reason.fill("by Enter");
    await dialog(tab).getByRole("button", { name: /^Hold/ }).and(tab.page.locator(":enabled")).waitFor();
    await reason.press("Enter");
    await dialog(tab).getByRole("button", { name: "Close" }).waitFor();
    const { holds } = await own.client.schedules.get("enter");
    expect(holds.map((hold) => hold.reason)).toEqual(["by Enter"]);
    await own.client.schedules.delete("enter");
    await tab.close();
  });

  test("A row can be released only by an admin or by the owner of its hold", async () => {
    const { token } = await own.client.tokens.create({ name: "looker", scope: "read" });
    const reader = await boardAt({ token });
    await rowOf(reader, "by eve").waitFor();
    expect(await reader.page.getByRole("button", { name: /Release/ }).count()).toBe(0);
    await reader.close();
    const eve = await boardAt({ token: eveToken });
    await release(eve, "by eve").waitFor();
    await release(eve, "the move").waitFor();
    expect(await eve.page.getByRole("button", { name: /Release/ }).count()).toBe(2);
    await eve.close();
  });

  test("An admin releases the hold that another owner has on a schedule, and sees its runs before", async () => {
    const tab = await boardAt();
    await release(tab, "by eve").click();
    await dialog(tab).getByText("Release the hold of “eve” on the schedule “one:0000”?").waitFor();
    await dialog(tab).getByText("The next runs:").waitFor();
    await dialog(tab).getByRole("button", { name: "Release it" }).click();
    await dialog(tab).getByText("It is released and runs.").waitFor();
    expect((await own.client.schedules.get("one:0000")).holds).toEqual([]);
    await dialog(tab).getByRole("button", { name: "Close" }).click();
    await rowOf(tab, "by eve").waitFor({ state: "detached" });
    await tab.page.getByLabel("ended ones").check();
    await rowOf(tab, "one:0000")
      .getByText(/^ended \d\d:\d\d by ops$/)
      .waitFor();
    await tab.close();
  });

  test("The sentence on a release stays in sight while the board is refreshed behind it", async () => {
    const tab = await boardAt();
    await release(tab, "by its operator").click();
    await dialog(tab).getByRole("button", { name: "Release it" }).click();
    await dialog(tab).getByText("It is released").waitFor();
    const refreshed = tab.page.waitForResponse((answer) => answer.url().includes("/v1/holds"));
    await tab.page.clock.runFor(16_000);
    await refreshed;
    await dialog(tab).getByText("It is released").waitFor();
    await dialog(tab).getByRole("button", { name: "Close" }).click();
    await tab.close();
  });

  test("Holds of a group and of a tag are released with the number of members that stay held", async () => {
    const tab = await boardAt();
    await release(tab, "the crew is away").click();
    await dialog(tab).getByText("5 of its schedules are held now").waitFor();
    await dialog(tab).getByRole("button", { name: "Release the group" }).click();
    await dialog(tab).getByText("Your hold ended on 5 schedules; 1 of them is still held.").waitFor();
    await dialog(tab).getByRole("button", { name: "Close" }).click();
    await release(tab, "too loud").click();
    await dialog(tab).getByRole("button", { name: "Release the tag" }).click();
    await dialog(tab).getByText("Your hold ended on 4 schedules, and none is held any more.").waitFor();
    expect(await own.client.schedules.count({ tag: "bells", state: "paused" })).toMatchObject({ count: 0 });
    await tab.close();
  });

  test("One member, then all holds that were set together are released from their row", async () => {
    const tab = await boardAt();
    await rowOf(tab, "the move")
      .getByRole("button", { name: /^Show the schedules/ })
      .click();
    await release(tab, "crm:0001").click();
    await dialog(tab).getByRole("button", { name: "Release it" }).click();
    await dialog(tab).getByText("It is released and runs.").waitFor();
    await dialog(tab).getByRole("button", { name: "Close" }).click();
    await release(tab, "crm:00…").click();
    await dialog(tab).getByText("The hold of “eve” ends on 29 schedules. 29 of them are held now").waitFor();
    await dialog(tab).getByRole("button", { name: "Release 29 schedules" }).click();
    await dialog(tab)
      .getByText("The hold of “eve” ended on 29 schedules; 1 of them is still held.")
      .waitFor();
    expect(await own.client.schedules.count({ prefix: "crm:", state: "paused" })).toMatchObject({ count: 1 });
    await tab.close();
  });

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "The board with its releases and their dialog can be read at $width px in the $theme theme",
    async (look) => {
      const tab = await boardAt(look);
      expect(await textFaults(tab.page)).toEqual([]);
      await release(tab, "of its own").click();
      await dialog(tab).getByText("The next runs:").waitFor();
      expect([...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
      await dialog(tab).getByRole("button", { name: "Leave it" }).click();
      await tab.close();
    },
  );

  test("A bulk release says on how many schedules the own hold ended, and how many are still held", async () => {
    const eve = new Carillon({ url: own.url, token: eveToken });
    await own.client.schedules.changeMany({ verb: "pause", filter: { prefix: "bell:" } });
    await eve.schedules.changeMany({ verb: "pause", keys: ["bell:0001", "bell:0002"] });
    const tab = await browser.tab();
    await tab.open("/schedules?prefix=bell:");
    await tab.page.getByText("Hold, release, change or delete all that match", { exact: true }).click();
    await tab.page.getByRole("button", { name: "Release all that match …" }).click();
    await dialog(tab).getByRole("button", { name: "Release 4 schedules" }).click();
    await dialog(tab).getByText("Your hold ended on 4 schedules; 2 of them are still held.").waitFor();
    await tab.close();
  });
});
