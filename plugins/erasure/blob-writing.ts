/**
 * Writes a blob as shards, a stripe at a time, to all drives at once. Goes on without drives that fail, as long as a write quorum is left.
 * Created by `set-drives.ts` for the storage thread and the workers.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Drive } from 'svc/plugins/drive/api'
import type { BlobRef, BlobWriter } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import type { StripeBuffer } from './codec/stripe-buffer.ts'
import { writeQuorumOf } from './parity.ts'
import type { KnownBlob } from './set-transaction.ts'
import { checkOfBlob, idInSlot, rotationOfBlob, type SetView, slotOfShard } from './set-view.ts'

export interface SetBlobWriterOptions {
  readonly view: SetView
  readonly id: string
  readonly parityCount: number
  readonly sizeHint: number | undefined
  /** Memory for a stripe; waits while there is none. */
  acquireStripe(code: ErasureCode): MaybePromise<StripeBuffer>
  releaseStripe(stripe: StripeBuffer): void
  /** Waits until this thread is attached to all usable drives. */
  ready(): MaybePromise<void>
  /** Called before `finish` resolves, so that a record that references the blob says which drives have it. */
  onFinished(id: string, blob: KnownBlob): MaybePromise<void>
}

interface ShardWriter {
  readonly slot: number
  readonly shard: number
  /** Generation of the drive that is written to: another drive may have the slot by the end. */
  readonly generation: number
  readonly writer: BlobWriter
}

export class SetBlobWriter implements BlobWriter {
  readonly id: string
  readonly #options: SetBlobWriterOptions
  /** How many drives must have their shard. */
  readonly #quorum: number
  /** Opened with the first stripe. */
  #writers: ShardWriter[] = []
  #hasWriters = false
  #error: unknown
  #stripe: StripeBuffer | undefined
  /** The stripe that is being written: its memory must not be released before. */
  #flushing: Promise<void> | undefined
  #size = 0
  #state: 'open' | 'finished' | 'aborted' = 'open'

  constructor(options: SetBlobWriterOptions) {
    this.#options = options
    this.id = options.id
    const { view, parityCount } = options
    this.#quorum = writeQuorumOf(view.slotCount - parityCount, parityCount)
  }

  async #openWriters(): Promise<void> {
    if (this.#hasWriters) return
    await this.#options.ready()
    this.#requireOpen()
    this.#writers = openWriters(this.#options)
    this.#hasWriters = true
  }

  write(chunk: Uint8Array): MaybePromise<void> {
    this.#requireOpen()
    const stripe = this.#stripe
    if (stripe === undefined) return this.#writeSlowly(chunk, 0)
    const taken = stripe.append(chunk)
    this.#size += taken
    // Most chunks only fill the stripe.
    if (taken === chunk.length) return stripe.isFull ? this.#flush() : undefined
    return this.#writeSlowly(chunk, taken)
  }

  async #writeSlowly(chunk: Uint8Array, from: number): Promise<void> {
    if (this.#stripe?.isFull) await this.#flush()
    for (let at = from; at < chunk.length; ) {
      if (this.#stripe === undefined) {
        this.#stripe = await this.#options.acquireStripe(this.#code)
        if (this.#state !== 'open') this.#giveBack()
        this.#requireOpen()
      }
      const taken = this.#stripe!.append(chunk, at)
      at += taken
      this.#size += taken
      if (this.#stripe!.isFull) await this.#flush()
    }
  }

  get #code(): ErasureCode {
    return this.#options.view.codeOf(this.#options.parityCount)
  }

  #flush(): Promise<void> {
    this.#flushing = this.#writeStripe()
    return this.#flushing
  }

  async #writeStripe(): Promise<void> {
    await this.#openWriters()
    const shards = this.#stripe!.finish()
    await Promise.all(this.#writers.map(target => this.#give(target, shards[target.shard]!)))
    this.#stripe?.clear()
    this.#requireQuorum()
    this.#requireOpen()
  }

  async #give(target: ShardWriter, shard: Uint8Array): Promise<void> {
    if (shard.length === 0) return
    try {
      await target.writer.write(shard)
    } catch (error) {
      this.#drop(target, error)
    }
  }

  #drop(target: ShardWriter, error: unknown): void {
    this.#error ??= error
    this.#writers = this.#writers.filter(other => other !== target)
    // Not awaited: it may hang. From here on it does not use the stripe's memory any more.
    target.writer.abort().catch(() => undefined)
    this.#options.view.onDriveError(target.slot, error)
  }

  #requireQuorum(): void {
    if (this.#writers.length >= this.#quorum) return
    throw (
      this.#error ??
      storageErrors.unavailable(`${this.#writers.length} drives can be written to; ${this.#quorum} are needed.`)
    )
  }

  async finish(): Promise<BlobRef> {
    this.#requireOpen()
    // No record can refer to it now. An unfinished blob is deleted by its `abort` at once.
    this.#options.view.requireQuorum()
    await this.#openWriters()
    this.#requireQuorum()
    if (this.#stripe !== undefined && this.#stripe.filledBytes > 0) await this.#flush()
    this.#giveBack()
    const { view, onFinished, parityCount } = this.#options
    const generations = new Uint8Array(view.slotCount)
    await Promise.all(
      [...this.#writers].map(async target => {
        try {
          await target.writer.finish()
          generations[target.slot] = target.generation
        } catch (error) {
          this.#drop(target, error)
        }
      }),
    )
    this.#requireQuorum()
    this.#requireOpen()
    this.#state = 'finished'
    await onFinished(this.id, { size: this.#size, generations, parityCount })
    return { id: this.id, size: this.#size, check: checkOfBlob(view, parityCount) }
  }

  async abort(): Promise<void> {
    if (this.#state === 'aborted') return
    this.#state = 'aborted'
    await this.#flushing?.catch(() => undefined)
    this.#giveBack()
    await Promise.all(this.#writers.map(({ writer }) => writer.abort().catch(() => undefined)))
  }

  #giveBack(): void {
    const stripe = this.#stripe
    this.#stripe = undefined
    if (stripe !== undefined) this.#options.releaseStripe(stripe)
  }

  #requireOpen(): void {
    if (this.#state !== 'open') throw new Error(`the blob is ${this.#state}`)
  }
}

function openWriters({ view, id, sizeHint, parityCount }: SetBlobWriterOptions): ShardWriter[] {
  const rotation = rotationOfBlob(id, view.slotCount)
  const hint = sizeHint === undefined ? undefined : Math.ceil(sizeHint / (view.slotCount - parityCount))
  const writers: ShardWriter[] = []
  for (let shard = 0; shard < view.slotCount; shard++) {
    const slot = slotOfShard(view, shard, rotation)
    const drive: Drive | undefined = view.driveAt(slot)
    if (drive === undefined) continue
    const generation = view.generationAt(slot)
    writers.push({ slot, shard, generation, writer: drive.createBlob(hint, { id: idInSlot(id, slot) }) })
  }
  return writers
}
