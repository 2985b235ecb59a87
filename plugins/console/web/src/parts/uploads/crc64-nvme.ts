/**
 * CRC-64/NVME, which the server keeps of each part. In plain numbers, because the page's policy allows no WebAssembly, and browsers offer
 * digests to pages with TLS alone. Source: NVM Command Set Specification, revision 1.0, section 5.2.1.3.4.
 */

const polynomialHigh = 0x9a6c9329
const polynomialLow = 0xac4bc9b5

/** Eight tables, so that eight bytes are taken at a time. */
const high = new Uint32Array(8 * 256)
const low = new Uint32Array(8 * 256)

for (let byte = 0; byte < 256; byte++) {
  let [top, bottom] = [0, byte]
  for (let bit = 0; bit < 8; bit++) {
    const isOdd = (bottom & 1) === 1
    bottom = (bottom >>> 1) | (top << 31)
    top >>>= 1
    if (isOdd) {
      top ^= polynomialHigh
      bottom ^= polynomialLow
    }
  }
  high[byte] = top
  low[byte] = bottom
}
for (let at = 256; at < 8 * 256; at++) {
  const [top, bottom] = [high[at - 256]!, low[at - 256]!]
  high[at] = (top >>> 8) ^ high[bottom & 255]!
  low[at] = ((bottom >>> 8) | (top << 24)) ^ low[bottom & 255]!
}

export class Crc64Nvme {
  #high = -1
  #low = -1

  update(bytes: Uint8Array): void {
    let [top, bottom] = [this.#high, this.#low]
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    for (; at + 8 <= bytes.length; at += 8) {
      const a = bottom ^ view.getUint32(at, true)
      const b = top ^ view.getUint32(at + 4, true)
      const [i, j, k, l] = [1792 + (a & 255), 1536 + ((a >>> 8) & 255), 1280 + ((a >>> 16) & 255), 1024 + (a >>> 24)]
      const [m, n, o, p] = [768 + (b & 255), 512 + ((b >>> 8) & 255), 256 + ((b >>> 16) & 255), b >>> 24]
      top = high[i]! ^ high[j]! ^ high[k]! ^ high[l]! ^ high[m]! ^ high[n]! ^ high[o]! ^ high[p]!
      bottom = low[i]! ^ low[j]! ^ low[k]! ^ low[l]! ^ low[m]! ^ low[n]! ^ low[o]! ^ low[p]!
    }
    for (; at < bytes.length; at++) {
      const index = (bottom ^ bytes[at]!) & 255
      bottom = ((bottom >>> 8) | (top << 24)) ^ low[index]!
      top = (top >>> 8) ^ high[index]!
    }
    this.#high = top
    this.#low = bottom
  }

  /** Base64, as S3 and the Admin API say it. */
  digest(): string {
    const bytes = new DataView(new ArrayBuffer(8))
    bytes.setUint32(0, ~this.#high)
    bytes.setUint32(4, ~this.#low)
    return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)))
  }
}

const pieceBytes = 1024 ** 2

/** Of a piece of a file, read bit by bit: the page answers meanwhile, and keeps a piece of it in memory. */
export async function crc64NvmeOf(blob: Blob, signal: AbortSignal): Promise<string> {
  const crc = new Crc64Nvme()
  for (let start = 0; start < blob.size; start += pieceBytes) {
    signal.throwIfAborted()
    crc.update(new Uint8Array(await blob.slice(start, start + pieceBytes).arrayBuffer()))
  }
  return crc.digest()
}
