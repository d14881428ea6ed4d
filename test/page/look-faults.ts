import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { buildSync } from "esbuild";
import type { Page } from "playwright-core";

const bundled = buildSync({
  entryPoints: [path.join(import.meta.dirname, "in-browser", "text-faults.ts")],
  bundle: true,
  write: false,
  format: "iife",
  globalName: "inBrowser",
});
const texts = bundled.outputFiles[0]?.text ?? "";

/** Texts of a page that overlap, are cut off, or show a fault of the code. */
export async function textFaults(page: Page): Promise<string[]> {
  await painted(page);
  return page.evaluate<string[]>(`(() => { ${texts} return inBrowser.textFaults(); })()`);
}

/** Rows with `content-visibility: auto` have no texts before their first frame. */
const painted = (page: Page) =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary: string }[];
}

/** The serious and critical findings of axe, each with the first elements that it names. */
export const axeFaults = (page: Page) => faultsOf(page, {});

/** Texts without enough contrast: all that another theme can change. */
export const contrastFaults = (page: Page) => faultsOf(page, { runOnly: ["color-contrast"] });

async function faultsOf(page: Page, options: object): Promise<string[]> {
  await page.evaluate(axe);
  const given = JSON.stringify({ resultTypes: ["violations"], ...options });
  const found = await page.evaluate<Finding[]>(
    `axe.run(document, ${given}).then(({ violations }) => violations)`,
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(describeNode).join("; ")}`);
}

const describeNode = ({ html, failureSummary }: Finding["nodes"][number]) =>
  `${html.slice(0, 160)} (${failureSummary.replaceAll(/\s+/g, " ").slice(0, 200)})`;

/** The contrast of two colours such as `rgb(79, 107, 184)`. */
export function contrast(colours: readonly string[]): number {
  const [dark = 0, light = 0] = colours.map(luminance).toSorted((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/[\d.]+/g)].map(([text]) => {
    const share = Number(text) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
