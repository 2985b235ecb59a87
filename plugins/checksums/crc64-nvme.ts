/**
 * CRC-64/NVME (NVM Express base specification, "64b CRC") in WebAssembly: crc64-nvme.wat.mjs says how. One instance for each
 * thread; a computation keeps eight bytes and takes no turns.
 */
import { readFileSync } from 'node:fs'
import type { Checksum } from './api.ts'

/** Reflected, as the CRC is. */
const polynomial = 0x9a6c9329ac4bc9b5n

interface Instance {
  readonly memory: WebAssembly.Memory
  /** Where bytes are to be written, and at most how many. */
  readonly windowAt: { readonly value: number }
  readonly windowBytes: { readonly value: number }
  /** Takes the first `size` bytes of the window, and changes them. */
  update(size: number, register: bigint): bigint
}

export interface Crc64Nvme {
  create(): Checksum
  /** Digest of one piece, without a computation object. */
  compute(bytes: Uint8Array): Buffer
}

export function createCrc64Nvme(): Crc64Nvme {
  const module = new WebAssembly.Module(readFileSync(new URL('./crc64-nvme.wasm', import.meta.url)))
  const instance = new WebAssembly.Instance(module).exports as unknown as Instance
  const { memory, update } = instance
  const windowBytes = instance.windowBytes.value
  const window = new Uint8Array(memory.buffer, instance.windowAt.value, windowBytes)
  fillTables(new BigUint64Array(memory.buffer, 0, 8 * 256))

  const advance = (bytes: Uint8Array, register: bigint): bigint => {
    const { length } = bytes
    if (length <= windowBytes) {
      window.set(bytes)
      return update(length, register)
    }
    let advanced = register
    for (let at = 0; at < length; at += windowBytes) {
      const piece = bytes.subarray(at, at + windowBytes)
      window.set(piece)
      advanced = update(piece.length, advanced)
    }
    return advanced
  }
  return {
    create: () => new RunningCrc64(advance),
    compute: bytes => digestOf(advance(bytes, -1n)),
  }
}

class RunningCrc64 implements Checksum {
  readonly #advance: (bytes: Uint8Array, register: bigint) => bigint
  #register = -1n
  #hasEnded = false

  constructor(advance: (bytes: Uint8Array, register: bigint) => bigint) {
    this.#advance = advance
  }

  update(bytes: Uint8Array): void {
    this.#requireOpen()
    this.#register = this.#advance(bytes, this.#register)
  }

  digest(): Buffer {
    this.#requireOpen()
    this.#hasEnded = true
    return digestOf(this.#register)
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw new Error('the checksum has been taken already')
  }
}

function digestOf(register: bigint): Buffer {
  const digest = Buffer.allocUnsafe(8)
  digest.writeBigInt64BE(~register)
  return digest
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
