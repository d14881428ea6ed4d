import { type Browser, type BrowserContext, chromium as driver, type Page } from "playwright-core";
import { chromium } from "../support/chromium.ts";
import { adminToken, type OwnPage } from "./own-page.ts";

export interface Look {
  width: number;
  theme: "light" | "dark";
  /** Null: nobody signs in. */
  token: string | null;
}

const byDefault: Look = { width: 1_440, theme: "light", token: adminToken };

/** One tab of a browser on the page. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Errors in its console, exceptions, and violations of its Content-Security-Policy. */
  faults: string[];
  /** Opens a view, and waits until no answer is awaited. */
  open(path: string): Promise<void>;
  close(): Promise<void>;
}

/** A real Chromium: its clock begins with that of the database, and its zone is that of Berlin. */
export interface OwnBrowser {
  tab(look?: Partial<Look>): Promise<Tab>;
  stop(): Promise<void>;
}

/** Starting a browser takes seconds, and on a loaded machine many. */
const startMs = 80_000;
const height = 900;

export async function ownBrowser(own: OwnPage): Promise<OwnBrowser> {
  const browser = await driver.launch({
    executablePath: chromium ?? "",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: startMs,
  });
  return {
    tab: (look = {}) => openTab(browser, own, { ...byDefault, ...look }),
    stop: () => browser.close(),
  };
}

/** The CSP's violations go to the console in any case; this makes each one an error. */
const reportViolations = `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("The policy refused", violatedDirective, blockedURI));`;

async function openTab(browser: Browser, own: OwnPage, { width, theme, token }: Look): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  });
  context.setDefaultTimeout(60_000);
  await context.addInitScript(reportViolations);
  const page = await context.newPage();
  await page.clock.install({ time: own.world.clock.now() });
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(error.message));
  return {
    page,
    context,
    faults,
    open: async (path) => {
      await page.goto(`${own.url}${path}${token === null ? "" : `#token=${token}`}`);
      await settled(page);
    },
    close: () => context.close(),
  };
}

/** Waits until the view is there and awaits no answer. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
}

/** Chooses the zone of all times, as its name is typed. */
export async function chooseZone(page: Page, zone: string): Promise<void> {
  await page.getByRole("button", { name: "Zone of all times" }).click();
  await page.getByLabel("Find a zone").fill(zone);
  await page.getByRole("option", { name: zone }).first().click();
}
