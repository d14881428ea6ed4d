const names = ["127.0.0.1", "localhost", "[::1]"];

/** The address, if it is one of this machine's loopback interface; an attack goes to no other. */
export function onLoopback(address: string): URL {
  const url = URL.parse(address);
  if (url !== null && url.protocol === "http:" && names.includes(url.hostname)) return url;
  throw new Error(
    `The address ${JSON.stringify(address)} is not attacked; an attack takes http addresses of ${names.join(", ")} only.`,
  );
}
