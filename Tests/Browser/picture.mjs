// Makes pictures small: PNG with a palette of the 256 colors that they have most.
import { deflateSync, inflateSync, crc32 } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

// Of node before version 20.15, which has none: CRC-32 as PNG has it.
const table = Array.from({ length: 256 }, (_, byte) => { for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? 0xedb88320 ^ (byte >>> 1) : byte >>> 1; return byte >>> 0; });
const checksum = crc32 ?? ((bytes) => (bytes.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);

function* chunks(png) {
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += 12 + length;
  }
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]), bytes = Buffer.alloc(8 + body.length);
  bytes.writeUInt32BE(data.length);
  body.copy(bytes, 4);
  bytes.writeUInt32BE(checksum(body), 4 + body.length);
  return bytes;
}

/** The size of a picture, whether it has a palette, and what it is made of. */
export function read(png) {
  const all = [...chunks(png)], head = all.find(({ type }) => type === "IHDR").data;
  return { width: head.readUInt32BE(0), height: head.readUInt32BE(4), depth: head[8], hasPalette: head[9] === 3, samples: { 2: 3, 6: 4 }[head[9]],
    data: Buffer.concat(all.filter(({ type }) => type === "IDAT").map(({ data }) => data)) };
}

/** The pixels as 0xRRGGBB, of a picture without a palette: PNG, section 9, "Filtering". */
function pixels({ width, height, samples, data }) {
  const raw = inflateSync(data), length = width * samples, lines = Buffer.alloc(length * height), colors = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const at = y * length + x, left = x < samples ? 0 : lines[at - samples], up = y ? lines[at - length] : 0, corner = y && x >= samples ? lines[at - length - samples] : 0;
      const guess = left + up - corner, [a, b, c] = [left, up, corner].map((each) => Math.abs(guess - each));
      lines[at] = raw[y * (length + 1) + 1 + x] + [0, left, up, (left + up) >> 1, a <= b && a <= c ? left : b <= c ? up : corner][filter];
    }
  }
  for (let at = 0; at < colors.length; at++) colors[at] = lines.readUIntBE(at * samples, 3);
  return colors;
}

export function withPalette(png) {
  const picture = read(png), colors = pixels(picture), counts = new Map();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const palette = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one)).slice(0, 256), places = new Map(palette.map((color, index) => [color, index]));
  const distance = (one, other) => [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);
  for (const color of counts.keys()) if (!places.has(color)) places.set(color, palette.reduce((best, each, index) => (distance(each, color) < distance(palette[best], color) ? index : best), 0));
  const lines = Buffer.alloc((picture.width + 1) * picture.height), head = Buffer.alloc(13);
  colors.forEach((color, at) => { lines[Math.floor(at / picture.width) * (picture.width + 1) + 1 + (at % picture.width)] = places.get(color); });
  head.writeUInt32BE(picture.width, 0);
  head.writeUInt32BE(picture.height, 4);
  head.set([8, 3], 8);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]))), chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
