import { afterAll, beforeAll } from "vitest";
import { type OwnBrowser, ownBrowser } from "./browser.ts";
import type { OwnPage } from "./own-page.ts";

/** Opens a page and a browser before the tests of a group, and closes both after them. */
export function withBrowser(
  open: () => Promise<OwnPage>,
  given: (opened: { own: OwnPage; browser: OwnBrowser }) => void | Promise<void>,
): void {
  const stop = new AsyncDisposableStack();
  beforeAll(async () => {
    const own = await open();
    stop.defer(() => own.stop());
    const browser = await ownBrowser(own);
    stop.defer(() => browser.stop());
    await given({ own, browser });
  });
  afterAll(() => stop.disposeAsync());
}
