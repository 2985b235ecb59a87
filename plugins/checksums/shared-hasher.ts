/**
 * One WebAssembly hasher that any number of computations take turns on. An instance costs about 64 KiB and can only be made
 * asynchronously, so there is one per algorithm and thread, whatever the number of uploads: a computation that loses its
 * turn has its state (a few hundred bytes at most) saved, and loaded again at its next update. A computation that is never
 * finished holds nothing but its own saved state, so abandoned uploads leak no instance.
 */
import type { IHasher } from 'hash-wasm'
import type { Checksum } from './api.ts'

export interface SharedHasher {
  create(): Checksum
  /** Digest of one piece, without a computation object. */
  compute(bytes: Uint8Array): Buffer
}

interface Turns {
  readonly hasher: IHasher
  /** Whose state is in the hasher now. */
  owner: Turn | undefined
}

class Turn implements Checksum {
  readonly #turns: Turns
  /** Undefined before the first update, and while this computation has the hasher. */
  #saved: Uint8Array | undefined
  #ended = false

  constructor(turns: Turns) {
    this.#turns = turns
  }

  update(bytes: Uint8Array): void {
    this.#take()
    this.#turns.hasher.update(bytes)
  }

  digest(): Buffer {
    this.#take()
    this.#ended = true
    this.#turns.owner = undefined
    return digestOf(this.#turns.hasher)
  }

  #take(): void {
    if (this.#ended) throw new Error('the checksum has been taken already')
    const turns = this.#turns
    if (turns.owner === this) return
    giveUp(turns)
    turns.owner = this
    if (this.#saved === undefined) turns.hasher.init()
    else turns.hasher.load(this.#saved)
    this.#saved = undefined
  }

  static save(turn: Turn, hasher: IHasher): void {
    turn.#saved = hasher.save()
  }
}

function giveUp(turns: Turns): void {
  if (turns.owner === undefined) return
  Turn.save(turns.owner, turns.hasher)
  turns.owner = undefined
}

function digestOf(hasher: IHasher): Buffer {
  const bytes = hasher.digest('binary')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function createSharedHasher(hasher: IHasher): SharedHasher {
  const turns: Turns = { hasher, owner: undefined }
  return {
    create: () => new Turn(turns),
    compute(bytes) {
      giveUp(turns)
      hasher.init()
      hasher.update(bytes)
      return digestOf(hasher)
    },
  }
}
