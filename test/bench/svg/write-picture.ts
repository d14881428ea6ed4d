import { mkdir, writeFile } from "node:fs/promises";

const folder = new URL("../../../docs/benchmarks/", import.meta.url);

/** Writes docs/benchmarks/<name>.svg; returns the Markdown that shows it in docs/benchmarks.md. */
export async function writePicture(name: string, svg: string): Promise<string> {
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`"${name}" is no name of a picture: a-z, 0-9 and -.`);
  const title = /<title[^>]*>([^<]*)<\/title>/.exec(svg)?.[1];
  if (title === undefined) throw new Error(`The picture ${name} has no title.`);
  await mkdir(folder, { recursive: true });
  await writeFile(new URL(`${name}.svg`, folder), svg);
  return `![${title}](benchmarks/${name}.svg)`;
}
