import { BoundedMap } from "../../bounded-map.ts";

/**
 * ICU answers with these old names although IANA has renamed the zones; people write and expect the
 * new ones.
 */
const newName: ReadonlyMap<string, string> = new Map([
  ["Africa/Asmera", "Africa/Asmara"],
  ["America/Buenos_Aires", "America/Argentina/Buenos_Aires"],
  ["America/Catamarca", "America/Argentina/Catamarca"],
  ["America/Coral_Harbour", "America/Atikokan"],
  ["America/Cordoba", "America/Argentina/Cordoba"],
  ["America/Godthab", "America/Nuuk"],
  ["America/Indianapolis", "America/Indiana/Indianapolis"],
  ["America/Jujuy", "America/Argentina/Jujuy"],
  ["America/Louisville", "America/Kentucky/Louisville"],
  ["America/Mendoza", "America/Argentina/Mendoza"],
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Asia/Katmandu", "Asia/Kathmandu"],
  ["Asia/Rangoon", "Asia/Yangon"],
  ["Asia/Saigon", "Asia/Ho_Chi_Minh"],
  ["Atlantic/Faeroe", "Atlantic/Faroe"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["Pacific/Enderbury", "Pacific/Kanton"],
  ["Pacific/Ponape", "Pacific/Pohnpei"],
  ["Pacific/Truk", "Pacific/Chuuk"],
]);

/**
 * ICU also accepts three-letter names that are not in IANA's list and mean different zones to
 * different people (IST, CST, BST).
 */
const threeLetterNames: ReadonlySet<string> = new Set(
  "CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET".split(" "),
);

const LENGTH_MAX = 64;

/**
 * The IANA name of a zone in its one spelling: `europe/berlin` and `US/Eastern` become
 * `Europe/Berlin` and `America/New_York`. Null for a text that is no IANA name: an offset, an
 * abbreviation, or the empty string, which would mean the zone of the host.
 */
export function canonicalTimezone(name: string): string | null {
  if (name.length > LENGTH_MAX || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return null;
  if (name.length === 3 && !threeLetterNames.has(name.toUpperCase())) return null;
  if (/^systemv\//i.test(name)) return null;
  const known = resolvedOnce(name);
  return known === null ? null : (newName.get(known) ?? known);
}

/**
 * Resolves each name once: making a formatter for it takes longer than reading all the rest of a
 * schedule.
 */
function resolvedOnce(name: string): string | null {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const canonical = resolvedByIntl(name);
  resolved.set(name, canonical);
  return canonical;
}

// There are about 600 names, but very many spellings of them in capitals and small letters.
const resolved = new BoundedMap<string, string | null>(2_000);
// UTC is the default zone. Without this entry, every function would load ICU's data at its start.
resolved.set("UTC", "UTC");

function resolvedByIntl(name: string): string | null {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
