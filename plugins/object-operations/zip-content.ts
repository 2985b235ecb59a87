/** The entries of an archive: named objects, and the objects under folders, which are listed while the archive is written. */
import { isCatalogError } from 'svc/kernel'
import type { ObjectData, ObjectsService, ObjectVersion } from 'svc/plugins/objects/api'
import { isPlaceholder } from './placeholder.ts'
import { createNames, safeName } from './zip-names.ts'
import type { ZipEntry } from './zip-stream.ts'

export interface ZipContent {
  readonly objects: ObjectsService
  readonly bucket: string
  /** Existing objects that the caller may read. */
  readonly named: readonly ObjectVersion[]
  /** None lies within another one. */
  readonly prefixes: readonly string[]
  /** Length of the common prefix that names in the archive omit. */
  readonly skipChars: number
  readonly nowMs: number
  mayRead(key: string): boolean
  /** Nobody waits for the archive any more. Where no object may be read, there is no entry at which it could end. */
  isGone(): boolean
}

const pageSize = 1000
/** Keys after which the event loop gets a turn, because reads from memory do not wait. */
const keysPerTurn = 100
/** Maximum number of objects in `_skipped.json`. */
const skippedMax = 10_000
const skippedName = '_skipped.json'

export async function* zipEntries(content: ZipContent): AsyncGenerator<ZipEntry> {
  const { objects, named, prefixes } = content
  const nameOf = createNames()
  /** Versions that are already in the archive: a named object may also be in a folder, or be named twice. */
  const isIn = new Set<string>()
  const skipped: { key: string; code: string }[] = []
  let skippedCount = 0

  const skip = (key: string, code: string) => {
    skippedCount++
    if (skipped.length < skippedMax) skipped.push({ key, code })
  }
  const open = (version: ObjectVersion) => objects.read(version, 0, version.sizeBytes)
  const entryOf = (version: ObjectVersion, opened?: ObjectData): ZipEntry => ({
    name: nameOf(safeName(version.key, content.skipChars)),
    modifiedMs: version.modifiedMs,
    sizeBytes: version.sizeBytes,
    open: () => opened ?? open(version),
  })

  for (const version of named) {
    if (isIn.has(identityOf(version))) continue
    isIn.add(identityOf(version))
    yield entryOf(version)
  }
  let seen = 0
  for (const prefix of prefixes) {
    for await (const key of keysUnder(content, prefix)) {
      if (++seen % keysPerTurn === 0) await new Promise(setImmediate)
      if (!content.mayRead(key)) {
        skip(key, 'access_denied')
        continue
      }
      const version = await currentVersion(content, key)
      if (version === undefined) {
        skip(key, 'object_not_found')
        continue
      }
      if (isIn.has(identityOf(version))) continue
      if (version.encryption === undefined) {
        yield entryOf(version)
        continue
      }
      // Opened before the entry begins, so that a missing key can be reported as skipped.
      let opened: ObjectData
      try {
        opened = await open(version)
      } catch (error) {
        const code = missingKey(version, error)
        if (code === undefined) throw error
        skip(key, code)
        continue
      }
      yield entryOf(version, opened)
    }
    if (content.isGone()) return
  }
  if (skippedCount === 0) return
  const bytes = Buffer.from(JSON.stringify({ skipped, count: skippedCount }))
  yield {
    name: nameOf(skippedName),
    modifiedMs: content.nowMs,
    sizeBytes: bytes.length,
    open: () => ({ kind: 'whole', bytes }),
  }
}

/**
 * Throws the error of a named object that cannot be decrypted, while an error can still be sent: reads one byte of each encrypted object.
 */
export async function requireKeys(objects: ObjectsService, named: readonly ObjectVersion[]): Promise<void> {
  for (const version of named) {
    if (version.encryption === undefined) continue
    const data = await objects.read(version, 0, Math.min(1, version.sizeBytes))
    if (data.kind === 'stream') data.close()
  }
}

/** The code for `_skipped.json` if the object is intact, but its key is missing; undefined for all other errors. */
function missingKey({ encryption }: ObjectVersion, error: unknown): string | undefined {
  if (!isCatalogError(error)) return undefined
  if (encryption?.type === 'SSE-C') return error.code === 'InvalidRequest' ? 'customer_key_required' : undefined
  // Status 500 of the key management means an altered wrapped key, which is damage and must not be skipped.
  return error.code.startsWith('kms_') && error.status !== 500 ? error.code : undefined
}

/** Unambiguous, because a version id has no slash. */
function identityOf({ key, versionId }: ObjectVersion): string {
  return `${versionId}/${key}`
}

/** Without placeholders of folders. */
async function* keysUnder({ objects, bucket, isGone }: ZipContent, prefix: string): AsyncGenerator<string> {
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    // Also where a page has nothing but placeholders.
    await new Promise(setImmediate)
    if (isGone()) return
    const page: Awaited<ReturnType<ObjectsService['listObjects']>> = await objects.listObjects({
      bucket,
      prefix,
      delimiter: '',
      startAfter,
      maxKeys: pageSize,
    })
    for (const object of page.objects) if (!isPlaceholder(object)) yield object.key
    startAfter = page.next
  }
}

/** Undefined if it was deleted since it was listed. */
async function currentVersion({ objects, bucket }: ZipContent, key: string): Promise<ObjectVersion | undefined> {
  try {
    const version = await objects.getObject(bucket, key)
    return version.isDeleteMarker ? undefined : version
  } catch (error) {
    if (isCatalogError(error) && error.code === 'NoSuchKey') return undefined
    throw error
  }
}
