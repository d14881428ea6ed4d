/** A cell that begins with one of these is a formula for a spreadsheet. */
const formula = /^[=+\-@\t\r]/;

/** One line of a CSV file. Texts that a spreadsheet would carry out get an apostrophe in front. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const harmless = formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
