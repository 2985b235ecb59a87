/** From a path to the object that answers it: the key, the index document, the folder, the fallback. */
import { chain, type MaybePromise } from 'svc/kernel'
import type { ObjectVersion, SystemMetadata } from 'svc/plugins/objects/api'
import type { ReadyBehavior } from './behaviors.ts'

/** The properties of a version that a website needs: small, plain JSON, unchanged as long as the identity is. */
export interface SiteObject {
  /** The key, with the prefix of the distribution. */
  readonly key: string
  readonly versionId: string
  readonly etag: string
  readonly modifiedMs: number
  readonly sizeBytes: number
  readonly sequence: number
  readonly system: SystemMetadata
  /** Encrypted with a key that only its owner has. */
  readonly isSealed: boolean
  /** Tags by which purges select its answers; absent if it has none. */
  readonly tags?: readonly string[]
}

export interface Resolution {
  /** `folder`: the path has to end with a slash. */
  readonly kind: 'object' | 'folder' | 'missing'
  /** Keys that were looked up, without the prefix, in this order. The visitor must be allowed to read each of them. */
  readonly keys: readonly string[]
  readonly object?: SiteObject
}

export interface Asked {
  /** Decoded, with its leading slash. */
  readonly path: string
  readonly versionId: string | undefined
}

const tagsMax = 50
const tagBytesMax = 256

/** `x-amz-meta-cache-tag`, separated by commas. */
function tagsOf({ user }: ObjectVersion): readonly string[] {
  const tags = (user['cache-tag'] ?? '').split(',').map(tag => tag.trim())
  return tags.filter(tag => tag !== '' && Buffer.byteLength(tag) <= tagBytesMax).slice(0, tagsMax)
}

/** An object of the site; undefined where it is missing. */
export type Find = (key: string, versionId?: string) => MaybePromise<ObjectVersion | undefined>

/** `looked`: the name that it was found by, without prefix. */
export function siteObject(looked: string, version: ObjectVersion): SiteObject {
  const { key, versionId, etag, modifiedMs, sizeBytes, sequence, system, encryption } = version
  const tags = tagsOf(version)
  return {
    // One text where they are equal.
    key: key === looked ? looked : key,
    versionId,
    etag,
    modifiedMs,
    sizeBytes,
    sequence,
    // Only what is there: entries are many.
    system: Object.fromEntries(Object.entries(system).filter(([, value]) => value !== undefined)),
    isSealed: encryption?.type === 'SSE-C',
    ...(tags.length > 0 && { tags }),
  }
}

export interface Resolved {
  readonly resolution: Resolution
  /** The version of the object. */
  readonly version: ObjectVersion | undefined
}

/** A key that may answer. */
interface Candidate {
  readonly key: string
  readonly versionId?: string | undefined
  /** It is an index document below the path: the path has to end with a slash. */
  readonly isBelow?: boolean
}

function candidatesOf(
  { path, versionId }: Asked,
  { indexDocument, spaFallback }: Pick<ReadyBehavior, 'indexDocument' | 'spaFallback'>,
): readonly Candidate[] {
  const key = path.slice(1)
  const isFolder = key === '' || key.endsWith('/')
  const candidates: Candidate[] = []
  if (!isFolder || indexDocument !== undefined)
    candidates.push({ key: isFolder ? key + indexDocument : key, versionId })
  if (!isFolder && indexDocument !== undefined && versionId === undefined)
    candidates.push({ key: `${key}/${indexDocument}`, isBelow: true })
  if (spaFallback !== undefined && versionId === undefined) candidates.push({ key: spaFallback })
  return candidates
}

/** Whether it is the same version of the same object, with the same metadata. */
const isSame = (object: SiteObject, { key, versionId, sequence, etag, modifiedMs }: ObjectVersion) =>
  object.sequence === sequence &&
  object.key === key &&
  object.versionId === versionId &&
  object.etag === etag &&
  object.modifiedMs === modifiedMs

/** A promise only where something has to be waited for. `last`: what it has led to before; handed out again where it is the same. */
export function resolvePath(
  asked: Asked,
  behavior: Pick<ReadyBehavior, 'indexDocument' | 'spaFallback'>,
  find: Find,
  last?: SiteObject,
): MaybePromise<Resolved> {
  const candidates = candidatesOf(asked, behavior)
  const keys: string[] = []

  function look(index: number): MaybePromise<Resolved> {
    const candidate = candidates[index]
    if (candidate === undefined) return { resolution: { kind: 'missing', keys }, version: undefined }
    keys.push(candidate.key)
    return chain(find(candidate.key, candidate.versionId), version => {
      if (version === undefined) return look(index + 1)
      if (candidate.isBelow === true) return { resolution: { kind: 'folder', keys }, version: undefined }
      const object = last !== undefined && isSame(last, version) ? last : siteObject(candidate.key, version)
      return { resolution: { kind: 'object', keys, object }, version }
    })
  }
  return look(0)
}
