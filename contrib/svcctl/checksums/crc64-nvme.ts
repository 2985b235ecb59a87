/**
 * CRC-64/NVME (NVM Express base specification, "64b CRC") in WebAssembly. `npm run build:wasm` writes the module here from the same
 * source as the module of the server; a computation is one 64-bit register, so any number of them share one instance.
 */
import { readFileSync } from 'node:fs'
import type { Checksum } from './checksums.ts'

/** Reflected, as the CRC is. */
const polynomial = 0x9a6c9329ac4bc9b5n

interface Instance {
  readonly memory: WebAssembly.Memory
  /** Address of the window, into which the caller writes bytes, and its length. */
  readonly windowAt: { readonly value: number }
  readonly windowBytes: { readonly value: number }
  /** Reads the first `size` bytes of the window, and changes them. */
  update(size: number, register: bigint): bigint
}

export function loadCrc64Nvme(): () => Checksum {
  const module = new WebAssembly.Module(readFileSync(new URL('./crc64-nvme.wasm', import.meta.url)))
  const instance = new WebAssembly.Instance(module).exports as unknown as Instance
  const windowBytes = instance.windowBytes.value
  const window = new Uint8Array(instance.memory.buffer, instance.windowAt.value, windowBytes)
  fillTables(new BigUint64Array(instance.memory.buffer, 0, 8 * 256))
  return () => {
    let register = -1n
    return {
      update(bytes) {
        for (let at = 0; at < bytes.length; at += windowBytes) {
          const piece = bytes.subarray(at, at + windowBytes)
          window.set(piece)
          register = instance.update(piece.length, register)
        }
      },
      digest() {
        const digest = Buffer.allocUnsafe(8)
        digest.writeBigInt64BE(~register)
        return digest
      },
    }
  }
}

/** Table k, at 256·k: the remainders of all bytes followed by k zeros. */
function fillTables(tables: BigUint64Array): void {
  for (let byte = 0; byte < 256; byte++) {
    let remainder = BigInt(byte)
    for (let bit = 0; bit < 8; bit++) remainder = remainder & 1n ? (remainder >> 1n) ^ polynomial : remainder >> 1n
    tables[byte] = remainder
  }
  for (let entry = 256; entry < tables.length; entry++) {
    const before = tables[entry - 256]!
    tables[entry] = (before >> 8n) ^ tables[Number(before & 255n)]!
  }
}
