import { readFile, writeFile } from "node:fs/promises";
import { machine } from "./report.ts";

const docs = new URL("../../docs/", import.meta.url);

export const benchmarksPage = "benchmarks.md";

/**
 * Replaces the text between a section's marks, and adds the command, the day, the machine and,
 * where the bench used one, the database.
 */
export async function writeSection(
  { file, name }: { file: string; name: string },
  { command, server }: { command: string; server: unknown },
  text: string,
): Promise<void> {
  const page = new URL(file, docs);
  const before = await readFile(page, "utf8");
  const taken = [
    new Date().toISOString().slice(0, 10),
    machine(),
    ...(typeof server === "string" ? [server] : []),
  ];
  const measured = `\`${command}\`, ${taken.join(", ")}`;
  await writeFile(page, withSection(before, name, `${measured}\n\n${text.trim()}`));
}

export function withSection(text: string, name: string, section: string): string {
  const [from, to] = [`<!-- bench:${name} -->\n`, `<!-- /bench:${name} -->`];
  const [start, end] = [text.indexOf(from), text.indexOf(to)];
  if (start < 0 || end < start)
    throw new Error(`The page has no section for ${name}: ${from.trim()} … ${to}`);
  return `${text.slice(0, start + from.length)}\n${section}\n\n${text.slice(end)}`;
}
