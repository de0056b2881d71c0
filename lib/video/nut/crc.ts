/**
 * NUT's checksum: of the polynomial 0x04C11DB7, the highest bit first, beginning with 0, not inverted; of bytes and
 * their checksum it is 0.
 */
export function crc32(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ table[(crc >>> 24) ^ byte]!) >>> 0
  return crc
}

const table = Uint32Array.from({ length: 256 }, (_, first) => {
  let value = first << 24
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1
  return value >>> 0
})
