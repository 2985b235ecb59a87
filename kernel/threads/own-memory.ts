/** For a message to another thread: structured clone copies a view together with its whole underlying buffer. */
export function withOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
