/** Looks again and again until something is so; what never comes to be so fails the test, with the question it waited for. */
export async function until<Found>(
  question: string,
  look: () => Promise<Found | undefined | false>,
): Promise<Found> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${question}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
