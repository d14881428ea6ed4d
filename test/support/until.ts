/**
 * Longer than a loaded machine needs to start a process and get an effect from it, and shorter than
 * the timeout of a test. `npm run mutants` waits less.
 */
const withinMs = Number(process.env["CARILLON_UNTIL_MS"] ?? 60_000);

/**
 * Repeats a check until it finds something. After a minute the test fails with the question in its
 * error.
 */
export async function until<Found>(
  question: string,
  check: () => Promise<Found | undefined | false>,
): Promise<Found> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs / 1_000} s until ${question}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
