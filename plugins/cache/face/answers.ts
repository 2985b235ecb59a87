/** What is asked of the cache, what it asks of origins, and what it answers. */
import type { MaybePromise } from 'svc/kernel'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { Fence } from '../fence/fences.ts'
import type { KeyRequest } from '../policy/key.ts'
import type { EffectivePolicy } from '../policy/policy.ts'

/** A field of a message and its value; several lines of one field are several of these. */
export type HeaderLine = readonly [name: string, value: string]
/** Values by lower-case name, as `IncomingMessage.headers` has them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface CacheRequest {
  readonly method: string
  /** Of the visitor. */
  readonly headers: RequestHeaders
  /** What its key is made of, beside headers and cookies. */
  readonly key: Omit<KeyRequest, 'header' | 'cookie'>
  readonly policy: EffectivePolicy
  /** Kept by the caller for all requests with the same `key` and the same policy: the cache notes there what it has made of them. */
  readonly kept?: { id?: string }
  /** Whether the visitor's `Cache-Control` and `Pragma` count. */
  readonly honorsDirectives: boolean
}

/** Bytes that can be read from any place, for as long as whoever has it reads on. */
export interface OriginObject {
  readonly sizeBytes: number
  /** Bytes start <= i < start+length. The first call comes at once, while the object is what it was. */
  read(start: number, length: number): MaybePromise<ObjectData>
}

/** Of origins that have objects: what an answer is made of, beside its bytes. */
export interface OriginRecord {
  /** Two answers with the same identity have the same bytes, status and value. */
  readonly identity: string
  /** Kept with the bytes and handed out with them; plain JSON of bounded size. */
  readonly value: unknown
  /** Of all keys that it depends on, present or absent, each taken before its key was read. */
  readonly fences: readonly Fence[]
  /** That purges may name. */
  readonly tags: readonly string[]
  /** Its bytes are encrypted where they are stored: outside of the memory of the process they lie encrypted, or not at all. */
  readonly isEncrypted?: boolean
}

export interface OriginAnswer {
  readonly status: number
  readonly headers: readonly HeaderLine[]
  /** A stream ends with an error where it is cut off; leaving its loop closes it. Undefined: none. */
  readonly body: AsyncIterable<Uint8Array> | OriginObject | undefined
  readonly record?: OriginRecord
}

/** Where answers come from. */
export interface CacheOrigin {
  /** All of its answers have a record, and ranges are the caller's matter. */
  readonly hasObjects?: boolean
  /**
   * `headers` are the visitor's end-to-end fields, with conditions of the cache in the place of the visitor's. Rejects where the origin
   * cannot be reached.
   */
  fetch(request: { readonly method: string; readonly headers: RequestHeaders }): Promise<OriginAnswer>
}

/** Value of `X-Cache`. */
export type CacheResult = 'HIT' | 'MISS' | 'STALE' | 'EXPIRED' | 'REVALIDATED' | 'BYPASS'

export interface CacheAnswer {
  readonly status: number
  /** With `X-Cache`, `Cache-Status` and, of what is from the cache, `Age`. */
  readonly headers: readonly HeaderLine[]
  /** A stream that nobody reads must be closed by its `return`. */
  readonly body: Buffer | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
}

/** An answer as it is stored, or as the origin has given it: without regard to conditions and ranges. */
export interface CacheLookup {
  readonly status: number
  /** Of the origin. Empty where `value` has what they say. */
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | CachedObject | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
  /** Value of `Cache-Status`. */
  readonly detail: string
  /** Undefined: not from the cache. */
  readonly ageSeconds: number | undefined
  /** Of `OriginRecord`. */
  readonly value: unknown
  /** `memory`, the name of a tier, or `origin`. An object that is read in blocks says it when it is opened. */
  readonly source: string
}

export interface CachedObject {
  readonly sizeBytes: number
  /**
   * Bytes start <= i < start+length, of one version of the object. `isCached`: all of them were in the cache. Undefined: the object has been
   * replaced and its bytes are gone; a lookup finds what it is now.
   */
  open(start: number, length: number): MaybePromise<OpenedObject | undefined>
}

export interface OpenedObject {
  readonly data: ObjectData
  readonly isCached: boolean
  /** Of all that is needed: `memory`, the name of the tier that has what memory lacks, or `origin`. */
  readonly source: string
}
