import { expect, test } from "vitest";
import { withSection } from "./page.ts";

const page = "# Page\n\n<!-- bench:fire -->\nold\n<!-- /bench:fire -->\n\nrest\n";

test("a section replaces what stood between its marks, and nothing else", () => {
  expect(withSection(page, "fire", "new")).toBe(
    "# Page\n\n<!-- bench:fire -->\n\nnew\n\n<!-- /bench:fire -->\n\nrest\n",
  );
});

test("written twice it stands there once", () => {
  expect(withSection(withSection(page, "fire", "new"), "fire", "new")).toBe(withSection(page, "fire", "new"));
});

test("a bench without a place on the page is refused", () => {
  expect(() => withSection(page, "drain", "new")).toThrow("<!-- bench:drain -->");
});
