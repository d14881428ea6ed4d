import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** By this, whoever looks through files and logs for secrets knows one of Carillon's. */
const beginning = "carillon_";

const randomByteCount = 32;
const randomLength = 43;
const checksumLength = 6;

/** What can stand behind `Bearer` in a header; anything else could never be presented. */
const presentable = /^[\x21-\x7e]{1,4096}$/;

export function isPresentable(bearer: string): boolean {
  return presentable.test(bearer);
}

/** 256 random bits in letters and digits, and a checksum by which a scanner tells a secret from what only looks like one. */
export function newSecret(): string {
  const random = inLetters(BigInt(`0x${randomBytes(randomByteCount).toString("hex")}`), randomLength);
  return `${beginning}${random}${checksumOf(random)}`;
}

/** Looks like one that `newSecret` made, and was not copied whole: nobody need be asked for it. */
export function isMiscopied(bearer: string): boolean {
  const [, random = "", checksum] = /^carillon_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(bearer) ?? [];
  return checksum !== undefined && checksum !== checksumOf(random);
}

/** Random and long: a plain hash of it cannot be turned back, and finding it by index compares nothing secret. */
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
