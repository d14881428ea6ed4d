import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** Identifies a secret of Carillon to scanners of files and logs. */
const beginning = "carillon_";

const randomByteCount = 32;
const randomLength = 43;
const checksumLength = 6;

/**
 * The characters that a header takes after `Bearer`; a token with others could never be presented.
 */
const presentable = /^[\x21-\x7e]{1,4096}$/;

export function isPresentable(bearer: string): boolean {
  return presentable.test(bearer);
}

/**
 * 256 random bits as letters and digits, with a checksum that tells a scanner a real secret from a
 * lookalike.
 */
export function newSecret(): string {
  const random = inLetters(BigInt(`0x${randomBytes(randomByteCount).toString("hex")}`), randomLength);
  return `${beginning}${random}${checksumOf(random)}`;
}

/** Whether the text has the form of `newSecret` but a wrong checksum. Then no query is needed. */
export function isMiscopied(bearer: string): boolean {
  const [, random = "", checksum] = /^carillon_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(bearer) ?? [];
  return checksum !== undefined && checksum !== checksumOf(random);
}

/**
 * The secret is random and long, so a plain hash cannot be reversed, and a lookup by index compares
 * nothing secret.
 */
export function hashOf(bearer: string): Buffer {
  return createHash("sha256").update(bearer).digest();
}

function checksumOf(random: string): string {
  return inLetters(BigInt(crc32(random)), checksumLength);
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const base = BigInt(letters.length);

function inLetters(number: bigint, length: number): string {
  let text = "";
  for (let left = number; text.length < length; left /= base) text = `${letters[Number(left % base)]}${text}`;
  return text;
}
