/** What is uploaded over objects that a bucket keeps no old versions of: asked first, once for all files that were chosen together. */
import { call } from '../../api/client.ts'
import { withRetries } from '../../api/retries.ts'
import { texts } from '../../texts/index.ts'
import { notifyFailure } from '../failure.tsx'
import { sameKey } from '../same-key.ts'
import { keysBehind } from './behind.ts'
import { existingKeys } from './existing.ts'
import { type Chosen, uploadQueue } from './queue.ts'
import type { MayReplace } from './upload.ts'

export interface Replacing {
  readonly bucket: string
  /** How many files were chosen. */
  readonly files: number
  /** The server cannot be reached. */
  readonly isCut: boolean
  /** Keys that would be replaced; undefined while they are looked for. */
  readonly found: readonly string[] | undefined
  /** Of the bucket; undefined where one may not see it. */
  readonly versioning: string | undefined
  readonly replace: () => void
  readonly skip: () => void
  readonly cancel: () => void
}

class ReplacingStore {
  #first: Replacing | undefined
  /** One question after the other. */
  #turn: Promise<void> = Promise.resolve()
  #ended = new AbortController()
  readonly #listeners = new Set<() => void>()

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  snapshot = (): Replacing | undefined => this.#first

  /** Uploads what was chosen, or the part of it that somebody agrees to. */
  upload(bucket: string, chosen: readonly Chosen[]): void {
    const { signal } = this.#ended
    this.#turn = this.#turn.then(() => this.#decide(bucket, chosen, signal))
  }

  /** Gives up everything that was not decided yet. */
  discard(): void {
    this.#ended.abort()
    this.#ended = new AbortController()
  }

  async #decide(bucket: string, all: readonly Chosen[], discarded: AbortSignal): Promise<void> {
    const chosen = eachOnce(all)
    if (chosen.length === 0) return
    await uploadQueue.opened
    if (discarded.aborted) return
    const cancelled = new AbortController()
    const signal = AbortSignal.any([discarded, cancelled.signal])
    try {
      const answered = await new Promise<readonly Chosen[]>((resolve, reject) => {
        signal.addEventListener('abort', () => resolve([]))
        const given = { bucket, files: chosen.length, isCut: false, found: undefined, versioning: undefined }
        const idle = () => {}
        this.#show({ ...given, replace: idle, skip: idle, cancel: () => cancelled.abort() })
        const onUnreachable = () => {
          if (this.#first !== undefined) this.#show({ ...this.#first, isCut: true })
        }
        this.#look(bucket, chosen, signal, onUnreachable).then(({ found, behind, versioning }) => {
          const agreed = chosen.map(one => ({ ...one, mayReplace: mayReplace(one.key, versioning, found) }))
          const asked = new Set([...found.keys(), ...behind])
          if (asked.size === 0) return resolve(agreed)
          this.#show({
            ...given,
            found: [...asked],
            versioning,
            replace: () => resolve(agreed),
            skip: () => resolve(agreed.filter(({ key }) => !asked.has(key))),
            cancel: () => cancelled.abort(),
          })
        }, reject)
      })
      void uploadQueue.add(bucket, answered)
    } catch (error) {
      if (!signal.aborted) notifyFailure(error)
    } finally {
      this.#show(undefined)
    }
  }

  async #look(bucket: string, chosen: readonly Chosen[], signal: AbortSignal, onUnreachable: () => void) {
    const load = () => call('getBucket', { params: { bucket }, signal })
    const { versioning } = await withRetries(signal, load, async () => onUnreachable())
    const none = { found: new Map<string, string>(), behind: new Set<string>(), versioning }
    if (versioning === 'enabled') return none
    // What had arrived is compared before anything is sent. What an earlier page had only begun is asked about like the rest: whatever is
    // there now was perhaps stored since.
    const fresh = chosen.filter(({ key, file }) => !uploadQueue.hadArrived(bucket, key, file))
    if (fresh.length === 0) return none
    const keys = [...new Set(fresh.map(({ key }) => key))]
    const found = await existingKeys(bucket, keys, signal, onUnreachable)
    // Undefined for who may not see it.
    const hasHidden = versioning !== 'off'
    const behind = hasHidden ? await keysBehind(bucket, keys, signal, onUnreachable) : none.behind
    return { found, behind, versioning }
  }

  #show(replacing: Replacing | undefined): void {
    this.#first = replacing
    for (const listener of this.#listeners) listener()
  }
}

function mayReplace(key: string, versioning: string | undefined, found: ReadonlyMap<string, string>): MayReplace {
  if (versioning === 'enabled') return 'anything'
  const etag = found.get(key)
  return etag === undefined ? 'nothing' : { etag }
}

/** Of files whose names differ in their Unicode form alone one would take the place of the other: the server keeps one form of a key. */
function eachOnce(chosen: readonly Chosen[]): readonly Chosen[] {
  const first = new Map<string, string>()
  const left: string[] = []
  const once = chosen.filter(({ key }) => {
    const taken = first.get(sameKey(key)) ?? key
    first.set(sameKey(key), taken)
    if (taken !== key) left.push(key)
    return taken === key
  })
  if (left.length > 0) notifyFailure(new Error(texts.uploads.twice(left.length, left[0]!)))
  return once
}

export const replacing = new ReplacingStore()
