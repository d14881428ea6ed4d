import { describe, expect, test } from "vitest";
import { Carillon } from "../../lib/client/main.ts";
import { chromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";
import { type OwnBrowser, settled, type Tab } from "./browser.ts";
import type { OwnPage } from "./own-page.ts";
import { formulaKey, group, restPage, target } from "./rest-filled.ts";
import { withBrowser } from "./with-browser.ts";

describe.runIf(chromium !== undefined)("what the page changes (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(restPage, (opened) => {
    ({ own, browser } = opened);
  });

  async function tabAt(path: string): Promise<Tab> {
    const tab = await browser.tab();
    await tab.open(path);
    return tab;
  }

  const button = ({ page }: Tab, name: string | RegExp) => page.getByRole("button", { name });
  /** The sentence on what was done; before it, the dialog shows its progress. */
  const said = ({ page }: Tab) =>
    page.getByRole("alertdialog", { name: "Done" }).getByRole("status").textContent();

  test("A new token's secret is shown once, also after a double click and Escape meanwhile, and is nowhere else, and the token can be revoked", async () => {
    const tab = await tabAt("/tokens");
    const { page } = tab;
    await button(tab, "New token …").click();
    await page.getByLabel(/^Name/).fill("nightly");
    await page.getByLabel(/^Scope/).selectOption("write");
    await page.getByLabel(/^Keys begin with/).fill("nightly:");
    const made = Promise.withResolvers<void>();
    await page.route("**/v1/tokens", async (route) => {
      if (route.request().method() === "POST") await made.promise;
      await route.continue();
    });
    await button(tab, "Make the token").dblclick();
    await button(tab, "Working …").waitFor();
    await page.keyboard.press("Escape");
    const leave = await button(tab, "Leave it").boundingBox();
    await page.mouse.click((leave?.x ?? 0) + 5, (leave?.y ?? 0) + 5);
    made.resolve();
    const secret = (await page.locator(".dialog .secret").innerText()).trim();
    expect((await own.client.tokens.list().take(9)).find(({ name }) => name === "nightly")).toMatchObject({
      scope: "write",
      prefix: "nightly:",
    });
    expect(page.url()).not.toContain(secret);
    await button(tab, "I have it").click();
    await page.locator(".dialog").waitFor({ state: "detached" });
    await settled(page);
    const kept = await page.evaluate(
      "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state, document.documentElement.outerHTML])",
    );
    expect(secret.length).toBeGreaterThan(20);
    expect(kept).not.toContain(secret);
    await page
      .getByRole("row", { name: /nightly/ })
      .getByRole("button", { name: "Revoke …" })
      .click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke", exact: true }).click();
    expect(await said(tab)).toContain("nightly is revoked");
    expect((await own.client.tokens.list().take(9)).map(({ name }) => name)).not.toContain("nightly");
    await tab.close();
  });

  test("A token gets a new secret, which is shown once, and the old one ends when it is said to", async () => {
    const { id, token: old } = await own.client.tokens.create({ name: "weekly", scope: "read" });
    const tab = await tabAt("/tokens");
    const { page } = tab;
    await page
      .getByRole("row", { name: /weekly/ })
      .getByRole("button", { name: "Rotate …" })
      .click();
    await page.getByLabel("The old secret stays valid").selectOption("0s");
    await button(tab, "Rotate").click();
    const secret = (await page.locator(".dialog .secret").innerText()).trim();
    await button(tab, "I have it").click();
    const own_ = (token: string) =>
      fetch(`${own.url}/v1/token`, { headers: { authorization: `Bearer ${token}` } });
    expect(await (await own_(secret)).json()).toMatchObject({ id });
    expect((await own_(old)).status).toBe(401);
    await tab.close();
  });

  test("Rows in quarantine are listed and retried at the next tick, after they were counted", async () => {
    const tab = await tabAt("/quarantine");
    const { page } = tab;
    await page.getByRole("row", { name: /hooks:orders/ }).waitFor();
    await button(tab, "Retry now …").click();
    await page.getByText("2 rows are tried at the next tick").waitFor();
    await button(tab, "Retry at the next tick").click();
    expect(await said(tab)).toContain("2 rows are tried at the next tick");
    const entries = await own.client.quarantine.list().take(9);
    expect(entries.map(({ nextAt }) => Date.parse(nextAt) <= Date.parse("2026-03-29T00:31:00.000Z"))).toEqual(
      [true, true],
    );
    await tab.close();
  });

  test("Limits are set and cleared, and another edit meanwhile is a conflict", async () => {
    const tab = await tabAt(`/limits?target=${encodeURIComponent(target)}`);
    const { page } = tab;
    const atOnce = page.getByLabel(/^Jobs at once/);
    await atOnce.fill("25");
    await own.client.limits.put(target, { concurrency: 7 });
    await button(tab, "Set the limits").click();
    // The list may show the other edit before the form begins again with it.
    await until("the form has the other limit", async () => (await atOnce.inputValue()) === "7");
    expect(await own.client.limits.get(target)).toMatchObject({ concurrency: 7 });
    await atOnce.fill("30");
    await page.getByLabel(/^Of one team at once/).fill("4");
    await button(tab, "Set the limits").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await own.client.limits.get(target)).toMatchObject({ concurrency: 30, perTeam: 4 });
    await page.getByText("(4 a team)").waitFor();
    await button(tab, `Change the limits of ${target}`).click();
    await button(tab, /^Clear/).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await own.client.limits.get(target)).toMatchObject({ concurrency: null, setAt: null });
    await tab.close();
  });

  test("A group is held after the server's count, and released", async () => {
    const tab = await tabAt(`/groups/${encodeURIComponent(group)}`);
    const { page } = tab;
    await button(tab, "Hold …").click();
    await page.getByText("120 schedules do not run").waitFor();
    await page.getByLabel(/^Reason/).fill("in dispute");
    await button(tab, "Hold the group").click();
    expect(await said(tab)).toContain("120 schedules");
    await button(tab, "Close").click();
    await page.getByText("in dispute").waitFor();
    expect(await own.client.schedules.count({ group, state: "paused" })).toMatchObject({ count: 120 });
    await button(tab, "Release …").click();
    await button(tab, "Release the group").click();
    expect(await said(tab)).toContain("Your hold ended on 120 schedules, and none is held any more.");
    await tab.close();
  });

  test("A selected range of schedules is held and deleted together, with the server's dry run", async () => {
    const tab = await tabAt("/schedules?prefix=crm:contact:00");
    const { page } = tab;
    const box = (key: string) => page.getByRole("checkbox", { name: `Select ${key}` });
    await box("crm:contact:0001").click();
    await box("crm:contact:0005").click({ modifiers: ["Shift"] });
    await page.getByText("5 selected").waitFor();
    await button(tab, "Hold these …").click();
    await page.getByRole("button", { name: "Hold 5 schedules" }).waitFor();
    await page.getByLabel(/^Reason/).fill("to be checked");
    await page.getByRole("button", { name: "2 h", exact: true }).click();
    await button(tab, "Hold 5 schedules").dblclick();
    expect(await said(tab)).toContain("5 schedules are held.");
    await button(tab, "Close").click();
    expect(await own.client.schedules.get("crm:contact:0003")).toMatchObject({
      state: "paused",
      holds: [{ reason: "to be checked", until: expect.any(String) }],
    });
    await button(tab, "Delete these …").click();
    await button(tab, "Delete 5 schedules").click();
    expect(await said(tab)).toContain("5 schedules are deleted.");
    expect(await own.client.schedules.count({ prefix: "crm:contact:000" })).toMatchObject({ count: 5 });
    await tab.close();
  });

  test("Fields of all schedules that match are changed, once their runs before and after were shown", async () => {
    const tab = await tabAt("/schedules?prefix=hooks:");
    const { page } = tab;
    await page.getByText("Hold, release, change or delete all that match", { exact: true }).click();
    await button(tab, "Change all that match …").click();
    const act = page.getByRole("alertdialog").getByRole("button", { name: /Nothing to do|Change 1/ });
    expect(await act.isDisabled()).toBe(true);
    await page.getByLabel(/^Fields to change/).fill('{ "when": "0 9 * * *", "timezone": "Europe/Berlin" }');
    await button(tab, "Show what changes").click();
    await page.getByRole("button", { name: "Change 1 schedule" }).click();
    expect(await said(tab)).toContain("1 schedule is changed.");
    expect(await own.client.schedules.get("hooks:orders")).toMatchObject({ when: "0 9 * * *" });
    await tab.close();
  });

  test("A refused command is checked, mended and sent again, and leaves the list", async () => {
    const tab = await tabAt("/refused?id=1");
    const { page } = tab;
    const text = page.getByLabel("The command");
    await button(tab, "Check when it would run").click();
    await page.getByRole("alert").waitFor();
    await text.fill((await text.inputValue()).replace("evry 1h", "every 1h"));
    await button(tab, "Check when it would run").click();
    await page.getByText("next").waitFor();
    await button(tab, "Send the mended text").click();
    await page.getByText("No command was refused.").waitFor();
    expect(await own.client.schedules.get("order:1234")).toMatchObject({ when: "every 1h" });
    await tab.close();
  });

  test("A refused command for a key beyond its queue is shown without a retry", async () => {
    const [row] = await own.world.sql<{ id: string }[]>`
      insert into carillon.dead_commands (message_id, place, key, queue_prefix, refused_at, refusal, command)
      values ('m', 0, 'order:7', 'crm:', carillon.clock(), '{"kind":"forbidden","message":"This queue reaches crm: alone."}',
        '{"pause":"order:7"}') returning id`;
    const tab = await tabAt(`/refused?id=${row?.id}`);
    await button(tab, "Send the mended text").waitFor();
    await button(tab, "Forget …").waitFor();
    expect(await button(tab, "Retry as it is").count()).toBe(0);
    await own.world.sql`update carillon.dead_commands set queue_prefix = 'order:'`;
    await tab.page.reload();
    await button(tab, "Retry as it is").waitFor();
    await own.world.sql`delete from carillon.dead_commands`;
    await tab.close();
  });

  test("A refused command of the SQL inbox is forgotten after a question, and leaves the list", async () => {
    const { items } = await own.client.inbox.errors().page();
    const tab = await tabAt(`/refused?of=inbox&id=${items[0]?.id}`);
    const { page } = tab;
    await button(tab, "Forget …").click();
    await page.getByText("leaves this list and is not applied.").waitFor();
    await button(tab, "Forget it").click();
    expect(await said(tab)).toContain("The command is forgotten.");
    await button(tab, "Close").click();
    await page
      .locator(".refused > li")
      .nth(items.length - 1)
      .waitFor({ state: "detached" });
    expect((await own.client.inbox.errors().page()).items).toHaveLength(items.length - 1);
    await tab.close();
  });

  test("The export has all rows that match, and no text that a spreadsheet carries out", async () => {
    const tab = await tabAt("/schedules?prefix=crm:");
    const { page } = tab;
    await button(tab, "Export …").click();
    const [download] = await Promise.all([page.waitForEvent("download"), button(tab, "CSV").click()]);
    expect(download.suggestedFilename()).toMatch(/^carillon-schedules-prefix-crm_-2026-03-29T[\d-]+Z\.csv$/);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(Buffer.from(chunk));
    const lines = Buffer.concat(chunks).toString().trim().split("\r\n");
    const { count } = await own.client.schedules.count({ prefix: "crm:" });
    expect(lines).toHaveLength(count + 1);
    expect(lines.find((line) => line.startsWith(`${formulaKey},`))).toContain(`"'=HYPERLINK(`);
    await tab.close();
  });

  test("The audit says in a sentence who changed what, and shows the values", async () => {
    const tab = await tabAt("/audit?action=schedule.patched&subject=hooks:orders");
    const { page } = tab;
    const entry = page.getByRole("listitem").filter({ hasText: "ops changed hooks:orders" });
    await entry.getByRole("button").click();
    const row = entry.getByRole("row", { name: /^when/ });
    expect(await row.getByRole("cell").allTextContents()).toEqual(["every 5m", "every 10m"]);
    await tab.close();
  });

  test("The audit names the prefix of a team's token, since another token may have its name", async () => {
    const { token, name } = await own.client.tokens.create({ name: "ops", scope: "write", prefix: "hooks:" });
    expect(name).toBe("ops");
    await new Carillon({ url: own.url, token }).schedules.patch("hooks:orders", {
      description: "By the team",
    });
    const tab = await tabAt("/audit?action=schedule.patched&subject=hooks:orders");
    const entry = tab.page.getByRole("listitem").filter({ hasText: "ops changed hooks:orders" }).first();
    await entry.getByRole("button").click();
    await entry.getByText("through the API, with the prefix hooks:").waitFor();
    await tab.close();
  });
});
