/** From here on a number is written with an exponent, as no id is. */
const exponentFrom = 1e21;

/**
 * Refuses whole numbers that lost digits when the message was parsed; the usual case is an id of 64
 * bits. The API does the same with its bodies, but it would get the rounded number.
 */
export function refuseInexact(value: unknown): void {
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== "number" || !Number.isInteger(each) || Number.isSafeInteger(each)) return each;
    if (Math.abs(each) >= exponentFrom) return each;
    throw new TypeError(`The number ${each} cannot be kept exactly; send it as a string.`);
  });
}
