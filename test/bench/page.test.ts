import { expect, test } from "vitest";
import { withSection } from "./page.ts";

const page = "# Page\n\n<!-- bench:fire -->\nold\n<!-- /bench:fire -->\n\nrest\n";

test("writing a section replaces the text between its marks, and nothing else", () => {
  expect(withSection(page, "fire", "new")).toBe(
    "# Page\n\n<!-- bench:fire -->\n\nnew\n\n<!-- /bench:fire -->\n\nrest\n",
  );
});

test("writing a section twice does not duplicate it", () => {
  expect(withSection(withSection(page, "fire", "new"), "fire", "new")).toBe(withSection(page, "fire", "new"));
});

test("a bench without a section on the page is refused", () => {
  expect(() => withSection(page, "drain", "new")).toThrow("<!-- bench:drain -->");
});
