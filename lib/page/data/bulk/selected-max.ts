/** The most keys that one bulk action takes. */
export const selectedMax = 500;
