/** The requests to the cache, its requests to origins, and its answers. */
import type { MaybePromise } from 'svc/kernel'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { Fence } from '../fence/fences.ts'
import type { KeyRequest } from '../policy/key.ts'
import type { EffectivePolicy } from '../policy/policy.ts'

/** A field of a message and its value; a field with several lines has several of these. */
export type HeaderLine = readonly [name: string, value: string]
/** Values by lower-case name, as `IncomingMessage.headers` has them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface CacheRequest {
  readonly method: string
  /** Headers of the visitor's request. */
  readonly headers: RequestHeaders
  /** The parts of the cache key, without headers and cookies. */
  readonly key: Omit<KeyRequest, 'header' | 'cookie'>
  readonly policy: EffectivePolicy
  /** An object that the caller keeps for all requests with the same `key` and policy: the cache stores the id of the key in it. */
  readonly kept?: { id?: string }
  /** Whether the visitor's `Cache-Control` and `Pragma` count. */
  readonly honorsDirectives: boolean
}

/** An object whose bytes can be read from any offset, for as long as a reader goes on reading. */
export interface OriginObject {
  readonly sizeBytes: number
  /** Reads the bytes start <= i < start+length. The first call comes immediately, while the object is unchanged. */
  read(start: number, length: number): MaybePromise<ObjectData>
}

/** What an origin with objects says about its answer, beside the bytes. */
export interface OriginRecord {
  /** Two answers with the same identity have the same bytes, status and value. */
  readonly identity: string
  /** Kept with the bytes and returned with them; plain JSON of bounded size. */
  readonly value: unknown
  /** Fences of all keys that the answer depends on, present or absent, each taken before its key was read. */
  readonly fences: readonly Fence[]
  /** Tags that purges may name. */
  readonly tags: readonly string[]
  /** The bytes are encrypted where they are stored. Outside of the memory of the process they must be encrypted, or not be stored at all. */
  readonly isEncrypted?: boolean
}

export interface OriginAnswer {
  readonly status: number
  readonly headers: readonly HeaderLine[]
  /** A stream ends with an error if it is cut off; leaving its loop closes it. Undefined: there is no body. */
  readonly body: AsyncIterable<Uint8Array> | OriginObject | undefined
  readonly record?: OriginRecord
}

/** The source of answers. */
export interface CacheOrigin {
  /** True: all of its answers have a record, and the caller handles ranges. */
  readonly hasObjects?: boolean
  /**
   * `headers` are the visitor's end-to-end fields, with conditions of the cache in the place of the visitor's. Rejects if the origin cannot be
   * reached.
   */
  fetch(request: { readonly method: string; readonly headers: RequestHeaders }): Promise<OriginAnswer>
}

/** Value of `X-Cache`. */
export type CacheResult = 'HIT' | 'MISS' | 'STALE' | 'EXPIRED' | 'REVALIDATED' | 'BYPASS'

export interface CacheAnswer {
  readonly status: number
  /** With `X-Cache`, `Cache-Status` and, if the answer is from the cache, `Age`. */
  readonly headers: readonly HeaderLine[]
  /** A stream that nobody reads must be closed by its `return`. */
  readonly body: Buffer | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
}

/** An answer as it is stored, or as the origin gave it: conditions and ranges are not applied. */
export interface CacheLookup {
  readonly status: number
  /** Lines of the origin. Empty if `value` has what they say. */
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | CachedObject | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
  /** Value of `Cache-Status`. */
  readonly detail: string
  /** Undefined: the answer is not from the cache. */
  readonly ageSeconds: number | undefined
  /** `value` of the `OriginRecord`. */
  readonly value: unknown
  /** `memory`, the name of a tier, or `origin`. An object that is read in blocks tells it when it is opened. */
  readonly source: string
}

export interface CachedObject {
  readonly sizeBytes: number
  /**
   * Reads the bytes start <= i < start+length, of one version of the object. `isCached`: all of them were in the cache. Undefined: the object was
   * replaced and its bytes are gone; another lookup finds the new one.
   */
  open(start: number, length: number): MaybePromise<OpenedObject | undefined>
}

export interface OpenedObject {
  readonly data: ObjectData
  readonly isCached: boolean
  /** Where the needed bytes are: `memory`, the name of the tier that has all that memory lacks, or `origin`. */
  readonly source: string
}
