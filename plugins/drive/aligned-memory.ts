/**
 * Page-aligned memory outside the JavaScript heap, as O_DIRECT requires. Only WebAssembly memory offers that: its pages are
 * mapped, hence aligned, and never move unless it grows.
 */
import { Buffer } from 'node:buffer'

const wasmPageBytes = 65_536

export const blockBytes = 4096

/** At least `sizeBytes`, zeroed, page-aligned. Freed when nothing refers to it. */
export function allocateAligned(sizeBytes: number): Buffer {
  const pages = Math.ceil(sizeBytes / wasmPageBytes)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  return Buffer.from(memory.buffer, 0, pages * wasmPageBytes)
}

export function alignUp(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes
}
