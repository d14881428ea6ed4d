import { describe, expect, test } from "vitest";
import { isNotFound } from "../../lib/client/main.ts";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser } from "./browser.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import { type OwnPage, ownPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

/** Two days before the clocks of Berlin go forward. */
const begin = "2027-03-26T12:00:00.000Z";

const nightly = { when: "30 2 * * *", timezone: "Europe/Berlin", target: { queue: "reports" } };

describe.runIf(chromium !== undefined)("the actions on a schedule in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage(begin),
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  test("The month shows the runs to come, and marks the day of a clock change and a day off", async () => {
    await own.client.calendars.put("easter", { dates: ["2027-03-29"] });
    await own.client.schedules.put("month", { ...nightly, calendar: { name: "easter" } });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/month");
    const changed = page.locator("td.noted", { hasText: "28" });
    expect(await changed.innerText()).toContain("03:00");
    expect(await page.locator("td.off", { hasText: "29" }).innerText()).toContain("skipped");
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("A hold shows the runs that it holds, and is released with its owner named", async () => {
    await own.client.schedules.put("held", nightly);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/held");
    await page.getByRole("button", { name: "Hold …" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("02:30:00").first().waitFor();
    await dialog.getByText("only the newest one runs when it ends (catch-up latest)").waitFor();
    await dialog.getByLabel("Reason, for the audit").fill("quiet please");
    await dialog.getByRole("button", { name: "2 h" }).click();
    await dialog.getByRole("button", { name: "Hold it" }).click();
    await dialog.getByText(/^It is held until \d\d:\d\d Europe\/Berlin\.$/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText(/held by ops \(“quiet please”\) until \d\d:\d\d/).waitFor();
    expect(await page.locator("body").innerText()).not.toMatch(/paused|on hold/i);
    expect((await own.client.schedules.get("held")).holds).toMatchObject([
      { owner: "ops", reason: "quiet please" },
    ]);
    await page.getByRole("button", { name: "Release the hold of “ops” …" }).click();
    await dialog.getByText("only the newest one runs at once (catch-up latest)").waitFor();
    await dialog.getByRole("button", { name: "Release it" }).click();
    await dialog.getByText("It is released and runs.").waitFor();
    expect((await own.client.schedules.get("held")).state).toBe("active");
    await tab.close();
  });

  test("Fire and delete are done after they have been shown", async () => {
    await own.client.schedules.put("fired", { ...nightly, payload: { n: 7 } });
    const tab = await browser.tab();
    const { page } = tab;
    const dialog = page.getByRole("alertdialog");
    await tab.open("/schedules/fired");
    await page.getByRole("button", { name: "Fire now …" }).click();
    await dialog.getByText('"n": 7').waitFor();
    expect(await own.client.schedules.jobs("fired").take(1)).toEqual([]);
    await dialog.getByRole("button", { name: "Fire it" }).click();
    await dialog.getByText("runs.").waitFor();
    await dialog.getByRole("link", { name: "Open the job" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    expect(await own.client.schedules.jobs("fired").take(1)).toMatchObject([{ kind: "manual" }]);
    await page.getByRole("button", { name: "Delete …" }).click();
    await dialog.getByText("02:30:00").first().waitFor();
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await dialog.getByText("It is deleted.").waitFor();
    const gone = page.waitForResponse(
      (answer) => answer.url().endsWith("/v1/schedules/fired") && answer.status() === 404,
    );
    await page.clock.fastForward(11_000);
    await gone;
    await page.getByRole("heading", { name: "Before it was deleted" }).waitFor();
    await dialog.getByText("It is deleted.").waitFor();
    expect(await page.getByText("The API does not answer").count()).toBe(0);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("deleted").and(page.locator(".schedule-head p")).waitFor();
    const found = await own.client.schedules.get("fired").catch((error: unknown) => error);
    expect(isNotFound(found)).toBe(true);
    await tab.close();
  });

  test("Two versions are compared field by field, and an old one is restored after a preview", async () => {
    await own.client.schedules.put("versions", nightly);
    await own.client.schedules.patch("versions", { when: "0 5 * * *", tags: ["x"] });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/versions");
    await page.getByText("Compare two versions").click();
    const compared = page.locator("details.compared");
    expect(await compared.getByRole("rowheader").allInnerTexts()).toEqual(["when", "tags"]);
    await page.getByRole("button", { name: "Restore …" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("30 2 * * *").waitFor();
    const runs = dialog.getByRole("region", { name: "The next runs, before and after" });
    await dialog.getByText(/of the next 5 runs move, each .* earlier\./).waitFor();
    const moved = (await own.client.schedules.tryRestore("versions", 1, { ifMatch: 2 })).changes;
    const shown = await runs.getByRole("time").evaluateAll((times) => times.map((each) => each.dateTime));
    expect(new Set(shown)).toEqual(new Set([...moved.before, ...moved.after]));
    expect((await own.client.schedules.get("versions")).version).toBe(2);
    await dialog.getByRole("button", { name: "Restore version 1" }).click();
    await dialog.getByText("Version 3 has the fields of version 1.").waitFor();
    expect(await own.client.schedules.get("versions")).toMatchObject({
      version: 3,
      when: "30 2 * * *",
      tags: [],
    });
    await tab.close();
  });
});
