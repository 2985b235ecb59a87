import { isCatalogError } from 'svc/kernel'
import type { DeleteConditions, ObjectsService } from 'svc/plugins/objects/api'
import {
  childrenNamed,
  childText,
  defineS3Operation,
  type S3Request,
  s3Errors,
  unquoteEtag,
  type XmlNode,
  type XmlValue,
} from 'svc/plugins/s3/api'

const keysMax = 1000
const keyBytesMax = 1024
/** Deletes of one request that may be under way together: they share commits, and leave room for others. */
const concurrency = 64

interface Item {
  readonly key: string
  readonly versionId: string | undefined
  readonly conditions: DeleteConditions | undefined
}

interface Outcome {
  readonly Deleted?: XmlValue
  readonly Error?: XmlValue
}

export default defineS3Operation<'objects'>({
  name: 'DeleteObjects',
  summary: 'Deletes up to 1000 objects; what fails is listed in the answer.',
  match: { method: 'POST', level: 'bucket', query: ['delete'] },
  action: 's3:DeleteObject',
  authorization: 'items',
  body: { kind: 'xml', root: 'Delete', maxBytes: 2 * 1024 * 1024, checksumRequired: true },
  reply: { kind: 'xml', root: 'DeleteResult' },
  errors: ['BadDigest', 'InvalidDigest', 'InvalidRequest', 'MalformedXML', 'NoSuchBucket'],
  async handle(request, { objects }) {
    const xml = request.xml!
    const items = readItems(request, xml)
    const isQuiet = childText(xml, 'Quiet') === 'true'
    await objects.getBucket(request.bucket)
    const outcomes: Outcome[] = []
    for (let start = 0; start < items.length; start += concurrency) {
      const slice = items.slice(start, start + concurrency)
      outcomes.push(...(await Promise.all(slice.map(item => deleteItem(request, objects, item)))))
    }
    return {
      xml: {
        Deleted: isQuiet ? undefined : outcomes.flatMap(({ Deleted }) => (Deleted === undefined ? [] : [Deleted])),
        Error: outcomes.flatMap(outcome => (outcome.Error === undefined ? [] : [outcome.Error])),
      },
    }
  },
})

function readItems({ normalizeKey }: S3Request, xml: XmlNode): readonly Item[] {
  const nodes = childrenNamed(xml, 'Object')
  if (nodes.length === 0 || nodes.length > keysMax) {
    throw s3Errors.MalformedXML(`A request deletes between 1 and ${keysMax} objects.`)
  }
  return nodes.map(node => {
    const key = childText(node, 'Key')
    if (key === undefined || key === '') throw s3Errors.MalformedXML('An Object has no Key.')
    return { key: normalizeKey(key), versionId: childText(node, 'VersionId'), conditions: readConditions(node) }
  })
}

function readConditions(node: XmlNode): DeleteConditions | undefined {
  const etag = childText(node, 'ETag')
  const size = childText(node, 'Size')
  const modified = childText(node, 'LastModifiedTime')
  if (etag === undefined && size === undefined && modified === undefined) return undefined
  const modifiedMs = modified === undefined ? undefined : Date.parse(modified)
  if ((size !== undefined && !/^\d{1,15}$/.test(size)) || Number.isNaN(modifiedMs)) throw s3Errors.MalformedXML()
  return {
    ifMatch: etag === undefined ? undefined : unquoteEtag(etag),
    ifMatchSize: size === undefined ? undefined : Number(size),
    ifMatchModifiedMs: modifiedMs,
  }
}

async function deleteItem(request: S3Request, objects: ObjectsService, item: Item): Promise<Outcome> {
  const { key, versionId, conditions } = item
  const VersionId = versionId === '' ? undefined : versionId
  const failed = (Code: string, Message: string) => ({ Error: { Key: key, VersionId, Code, Message } })
  const action = VersionId === undefined ? 's3:DeleteObject' : 's3:DeleteObjectVersion'
  if (!request.isAllowed(action, request.bucket, key)) return failed('AccessDenied', 'Access Denied')
  if (Buffer.byteLength(key) > keyBytesMax) return failed('KeyTooLongError', 'Your key is too long')
  try {
    const result = await objects.deleteObject(request.bucket, key, VersionId, conditions)
    return {
      Deleted: {
        Key: key,
        VersionId: VersionId === undefined ? undefined : result.versionId,
        DeleteMarker: result.isDeleteMarker ? true : undefined,
        DeleteMarkerVersionId: result.isDeleteMarker ? result.versionId : undefined,
      },
    }
  } catch (error) {
    // Only what S3 has a code for is an item's own failure; a failed drive is the request's.
    if (!isCatalogError(error) || error.status >= 500) throw error
    return failed(error.code, error.message)
  }
}
