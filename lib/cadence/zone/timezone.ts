import { BoundedMap } from "../../bounded-map.ts";

/** ICU answers with these old names although IANA has renamed the zones; people write and expect the new ones. */
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

/** ICU also takes three-letter names that IANA never had and that mean different zones to different people (IST, CST, BST). */
const threeLetterNames: ReadonlySet<string> = new Set(
  "CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET".split(" "),
);

const LENGTH_MAX = 64;

/**
 * The IANA name of a zone in its one spelling (`europe/berlin` and `US/Eastern` become `Europe/Berlin` and
 * `America/New_York`), or null for what is no IANA name: offsets, abbreviations, the empty string, which would mean the
 * zone of the host.
 */
export function canonicalTimezone(name: string): string | null {
  if (name.length > LENGTH_MAX || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return null;
  if (name.length === 3 && !threeLetterNames.has(name.toUpperCase())) return null;
  if (/^systemv\//i.test(name)) return null;
  const known = resolvedOnce(name);
  return known === null ? null : (newName.get(known) ?? known);
}

/** Making a formatter only to hear a name takes longer than all the rest of reading a schedule. */
function resolvedOnce(name: string): string | null {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const canonical = resolvedByIntl(name);
  resolved.set(name, canonical);
  return canonical;
}

// There are some 600 names, but their spellings in capitals and small letters are without number.
const resolved = new BoundedMap<string, string | null>(2_000);
// The zone of whoever names none. To ask for it, ICU's data would be loaded by every function that starts.
resolved.set("UTC", "UTC");

function resolvedByIntl(name: string): string | null {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
