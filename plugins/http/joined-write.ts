/**
 * Puts head and body of a small answer together for one write. Node.js would do so with a body that is text, for which the bytes are copied
 * three times, or make a vectored write, which costs more than this one copy.
 */

/** Larger bodies are not worth a copy. */
export const joinedBodyBytesMax = 8 * 1024
const headBytesMax = 8 * 1024

let scratch = Buffer.allocUnsafeSlow(headBytesMax + joinedBodyBytesMax)

/**
 * `begin`, which may have the first bytes of the head, its rest, and the body; undefined where they are too large. Valid until the next call,
 * unless `keepJoined` is called before.
 */
export function joinBytes(begin: Buffer | undefined, head: string, body: Buffer): Buffer | undefined {
  const beginBytes = begin?.length ?? 0
  if (beginBytes + head.length > headBytesMax || body.length > joinedBodyBytesMax) return undefined
  if (begin !== undefined) scratch.set(begin, 0)
  const headBytes = beginBytes + scratch.latin1Write(head, beginBytes)
  scratch.set(body, headBytes)
  return scratch.subarray(0, headBytes + body.length)
}

/** The socket has not taken all that was joined last, and still reads it. */
export function keepJoined(): void {
  scratch = Buffer.allocUnsafeSlow(headBytesMax + joinedBodyBytesMax)
}
