/**
 * Page-aligned memory outside the JavaScript heap, as O_DIRECT wants it. WebAssembly memory is the one that JavaScript can
 * have: its pages are mapped, hence aligned, and never move as long as it is not grown.
 */
import { Buffer } from 'node:buffer'

const wasmPageBytes = 65_536

export const blockBytes = 4096

/** At least `sizeBytes`, zeroed, beginning on a page. Given back to the system when nothing refers to it any more. */
export function allocateAligned(sizeBytes: number): Buffer {
  const pages = Math.ceil(sizeBytes / wasmPageBytes)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  return Buffer.from(memory.buffer, 0, pages * wasmPageBytes)
}

export function alignUp(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes
}
