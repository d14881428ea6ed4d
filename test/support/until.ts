/** As long as a loaded machine may need to start a process and have it do something, and less than a test may take. `npm run mutants` waits less. */
const withinMs = Number(process.env["CARILLON_UNTIL_MS"] ?? 60_000);

/** Looks again and again until `look` finds something. After a minute the test fails and names what it waited for. */
export async function until<Found>(
  question: string,
  look: () => Promise<Found | undefined | false>,
): Promise<Found> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs / 1_000} s until ${question}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
