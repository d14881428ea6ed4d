import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { chromium } from "../../support/chromium.ts";
import { bars } from "./bars.ts";
import { distribution } from "./distribution.ts";
import { linearScale, logScale, shortNumber } from "./scale.ts";
import { timeSeries } from "./time-series.ts";

const line = (label: string, y: (x: number) => number | null) => ({
  label,
  points: Array.from({ length: 60 }, (_, n) => ({ x: n / 12, y: y(n) })),
});

const pictures = {
  bars: bars({
    title:
      "Jobs done per second, beside other queues on the same Postgres & Redis, at their best documented settings",
    desc: "Two groups of bars.",
    unit: "jobs/s",
    groups: [
      {
        label: "due at one instant → done",
        bars: [
          { label: "Carillon", value: 61_000, range: [57_300, 64_300], note: "2.5 ×", ours: true },
          { label: "another queue with a long name", value: 24_000 },
          { label: "nothing", value: 0 },
        ],
      },
      { label: "added → done", bars: [{ label: "Carillon", value: 43_000, ours: true }] },
    ],
  }),
  timeSeries: timeSeries({
    title: "Five minutes",
    desc: "Panels.",
    xLabel: "minutes",
    panels: [
      {
        label: "Late by",
        unit: "ms",
        lines: [line("p50", (n) => 60 + n), line("p99", (n) => (n === 30 ? null : 300 + n))],
        band: { low: 0, high: 1 },
        bound: { value: 1_000, label: "promised: p99 ≤ 1 s" },
      },
      { label: "WAL", unit: "MB/s", lines: [line("", () => 3.25)] },
      {
        label: "Dead rows",
        unit: "rows",
        lines: ["jobs", "parcels", "plan", "schedule_versions", "schedules", "tallies"].map((name, index) =>
          line(name, (n) => (n * 1_000 * index) % 130_000),
        ),
      },
    ],
  }),
  distribution: distribution({
    title: "Late by how much",
    desc: "Two lines.",
    xLabel: "milliseconds",
    bound: { value: 1_000, label: "promised: p99 ≤ 1 s" },
    series: ["steady, to a queue (p99 250 ms)", "put 1–5 s ahead, to a handler (p99 90 ms)"].map(
      (label, index) => ({
        label,
        buckets: Array.from({ length: 70 }, (_, n) => ({
          from: 10 ** (n / 20),
          to: 10 ** ((n + 1) / 20),
          count: Math.round(10_000 * Math.exp(-(((n - 30 - 10 * index) / 6) ** 2))),
        })),
      }),
    ),
  }),
};

describe("a picture", () => {
  test("a picture has a description for screen readers, loads nothing from elsewhere, and escapes all texts", () => {
    for (const svg of Object.values(pictures)) {
      expect(svg).toMatch(/<title id="title">[^<]+<\/title><desc id="desc">[^<]+<\/desc>/);
      expect(svg).toContain("prefers-color-scheme:dark");
      expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(/https?:|url\(|<script|href/);
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    }
    expect(pictures.bars).toContain("Postgres &#38; Redis");
  });

  test("a picture of the same figures is the same text", () => {
    const figures = {
      title: "a",
      desc: "b",
      unit: "s",
      groups: [{ label: "", bars: [{ label: "x", value: 1 / 3 }] }],
    };
    expect(bars(figures)).toBe(bars(figures));
    expect(() =>
      bars({ ...figures, groups: [{ label: "", bars: [{ label: "x", value: Number.NaN }] }] }),
    ).toThrow("NaN");
  });
});

describe("an axis", () => {
  test("an axis ends at a round number, and has few labels", () => {
    const span = { from: 0, to: 100 };
    expect(linearScale(0, 64_300, span).ticks).toEqual([0, 20_000, 40_000, 60_000, 80_000]);
    expect(linearScale(0, 0, span).ticks.length).toBeGreaterThan(1);
    expect(linearScale(-3, 9, span).at(0)).toBeGreaterThan(0);
    expect(logScale(3, 700, span).ticks).toEqual([1, 10, 100, 1_000]);
    expect(logScale(1, 1_000, span).at(0.2)).toBe(0);
    expect([0, 950, 1_200, 999_600, 2e6].map(shortNumber)).toEqual(["0", "950", "1.2k", "1M", "2M"]);
  });
});

const boxes = z.array(
  z.object({ text: z.string(), left: z.number(), right: z.number(), top: z.number(), bottom: z.number() }),
);

/** Every text of a picture with its position, as a browser lays it out. */
function laidOut(svg: string): { texts: z.infer<typeof boxes>; width: number; height: number } {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-svg-"));
  try {
    const page = path.join(folder, "page.html");
    const look = `JSON.stringify([...document.querySelectorAll("text")].map((text) => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      return { text: text.textContent, left, right, top, bottom };
    }))`;
    writeFileSync(
      page,
      `<!doctype html><meta charset="utf-8"><body style="margin:0">${svg}<pre id="found"></pre><script>document.getElementById("found").textContent = ${look}</script>`,
    );
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,1200", "--dump-dom"];
    const { stdout } = spawnSync(
      chromium ?? "",
      [...flags, `--user-data-dir=${folder}/profile`, `file://${page}`],
      {
        encoding: "utf8",
        timeout: 60_000,
      },
    );
    const found = /<pre id="found">(.*?)<\/pre>/s.exec(stdout)?.[1] ?? "";
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
    const told = found.replaceAll("&amp;", "&").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    return { texts: boxes.parse(JSON.parse(told)), width: Number(width), height: Number(height) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.runIf(chromium !== undefined)("a picture in a browser (needs Chromium)", () => {
  test.each(Object.entries(pictures))(
    "no two labels of %s overlap, and all are within the picture",
    (_, svg) => {
      const { texts, width, height } = laidOut(svg);
      expect(texts.length).toBeGreaterThan(10);
      const beyond = texts.filter(
        ({ left, right, top, bottom }) => left < 0 || top < 0 || right > width || bottom > height,
      );
      expect(beyond).toEqual([]);
      const overlapping = texts.flatMap((a, index) =>
        texts
          .slice(index + 1)
          .filter((b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
          .map((b) => `${a.text} / ${b.text}`),
      );
      expect(overlapping).toEqual([]);
    },
    90_000,
  );
});
