/** From a path to the object that answers it: the key, the index document, the folder, the fallback. */
import type { MaybePromise } from 'svc/kernel'
import type { ObjectVersion, SystemMetadata } from 'svc/plugins/objects/api'
import type { ReadyBehavior } from './behaviors.ts'

/** What a website needs of a version: plain JSON, small, and the same for as long as the identity is. */
export interface SiteObject {
  /** With the prefix of the distribution. */
  readonly key: string
  readonly versionId: string
  readonly etag: string
  readonly modifiedMs: number
  readonly sizeBytes: number
  readonly sequence: number
  readonly system: SystemMetadata
  /** Encrypted with a key that only its owner has. */
  readonly isSealed: boolean
  /** By which purges name its answers. Missing: none. */
  readonly tags?: readonly string[]
}

export interface Resolution {
  /** `folder`: the path has to end with a slash. */
  readonly kind: 'object' | 'folder' | 'missing'
  /** That were looked up, without the prefix, in this order: the visitor must be allowed to read each. */
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
  /** Of the object. */
  readonly version: ObjectVersion | undefined
}

export async function resolvePath(
  { path, versionId }: Asked,
  { indexDocument, spaFallback }: Pick<ReadyBehavior, 'indexDocument' | 'spaFallback'>,
  find: Find,
): Promise<Resolved> {
  const key = path.slice(1)
  const isFolder = key === '' || key.endsWith('/')
  const keys: string[] = []
  const look = (wanted: string, wantedVersion?: string) => {
    keys.push(wanted)
    return find(wanted, wantedVersion)
  }
  const found = (version: ObjectVersion): Resolved => ({
    resolution: { kind: 'object', keys: keys.slice(), object: siteObject(keys.at(-1) as string, version) },
    version,
  })
  if (!isFolder || indexDocument !== undefined) {
    const version = await look(isFolder ? key + indexDocument : key, versionId)
    if (version !== undefined) return found(version)
  }
  if (!isFolder && indexDocument !== undefined && versionId === undefined) {
    const index = await look(`${key}/${indexDocument}`)
    if (index !== undefined) return { resolution: { kind: 'folder', keys }, version: undefined }
  }
  if (spaFallback !== undefined && versionId === undefined) {
    const version = await look(spaFallback)
    if (version !== undefined) return found(version)
  }
  return { resolution: { kind: 'missing', keys }, version: undefined }
}
