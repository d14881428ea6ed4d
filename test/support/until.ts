/** As long as a loaded machine may need to start a whole process and have it do something. It is less than a test may take, so that the question is named. */
const withinMs = 60_000;

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
