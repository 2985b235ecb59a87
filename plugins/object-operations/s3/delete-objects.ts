import { mayBypassGovernance } from 'svc/plugins/object-lock/api'
import { type DeleteConditions, type DeleteOutcome, mapInTurns } from 'svc/plugins/objects/api'
import {
  childrenNamed,
  childText,
  conditionAction,
  defineS3Operation,
  type S3Request,
  s3Errors,
  unquoteEtag,
  type XmlNode,
  type XmlValue,
} from 'svc/plugins/s3/api'
import { deletedTags } from '../deleted-tags.ts'

const keysMax = 1000
const keyBytesMax = 1024

interface Item {
  readonly key: string
  readonly versionId: string | undefined
  readonly conditions: DeleteConditions | undefined
}

interface Outcome {
  readonly Deleted?: XmlValue
  readonly Error?: XmlValue
}

export default defineS3Operation({
  name: 'DeleteObjects',
  summary: 'Deletes up to 1000 objects; the answer lists failures.',
  match: { method: 'POST', level: 'bucket', query: ['delete'] },
  action: 's3:DeleteObject',
  authorization: 'items',
  body: {
    kind: 'xml',
    root: 'Delete',
    elements: {
      Object: { Key: 'text', VersionId: 'text', ETag: 'text', Size: 'text', LastModifiedTime: 'text' },
      Quiet: 'text',
    },
    maxBytes: 2 * 1024 * 1024,
    elementsMax: 2 + keysMax * 6,
    checksumRequired: true,
  },
  reply: { kind: 'xml', root: 'DeleteResult' },
  errors: ['BadDigest', 'InvalidDigest', 'InvalidRequest', 'MalformedXML', 'NoSuchBucket'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const xml = request.xml!
    const items = readItems(request, xml)
    const isQuiet = readQuiet(xml)
    const toDelete = (item: Item) => ({
      ...item,
      bypassGovernance: item.versionId !== undefined && mayBypassGovernance(request, item.key, item.versionId),
    })
    const refusals = await mapInTurns(items, item => refusalOf(request, item))
    const allowed = items.filter((_, index) => refusals[index] === undefined)
    // Callers who may delete nothing in the bucket do not learn whether it exists.
    const { bucket, origin } = request
    const results =
      allowed.length === 0 ? [] : await objects.deleteObjects(bucket, await mapInTurns(allowed, toDelete), origin)
    let next = 0
    const outcomes = items.map((item, index) => refusals[index] ?? describe(item, results[next++]!))
    request.note(deletedTags(items.flatMap(({ key }, index) => (outcomes[index]!.Deleted === undefined ? [] : [key]))))
    return {
      xml: {
        Deleted: isQuiet ? undefined : outcomes.flatMap(({ Deleted }) => (Deleted === undefined ? [] : [Deleted])),
        Error: outcomes.flatMap(outcome => (outcome.Error === undefined ? [] : [outcome.Error])),
      },
    }
  },
})

function readQuiet(xml: XmlNode): boolean {
  const text = childText(xml, 'Quiet')?.trim().toLowerCase() ?? 'false'
  if (text !== 'true' && text !== 'false') throw s3Errors.MalformedXML('Quiet must be true or false.')
  return text === 'true'
}

function readItems({ normalizeKey }: S3Request, xml: XmlNode): readonly Item[] {
  const nodes = childrenNamed(xml, 'Object')
  if (nodes.length === 0 || nodes.length > keysMax) {
    throw s3Errors.MalformedXML(`A request must have between 1 and ${keysMax} objects.`)
  }
  return nodes.map(node => {
    const key = childText(node, 'Key')
    if (key === undefined || key === '') throw s3Errors.MalformedXML('An Object needs a Key.')
    return {
      key: normalizeKey(key),
      versionId: childText(node, 'VersionId') || undefined,
      conditions: readConditions(node),
    }
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

/** Undefined if the item may be deleted. */
function refusalOf({ bucket, isAllowed }: S3Request, { key, versionId, conditions }: Item): Outcome | undefined {
  const action = versionId === undefined ? 's3:DeleteObject' : 's3:DeleteObjectVersion'
  const telling = conditions === undefined ? undefined : conditionAction(conditions, versionId)
  const mayKnow = telling === undefined || isAllowed(telling, bucket, key, versionId)
  if (!mayKnow || !isAllowed(action, bucket, key, versionId)) {
    return failure(key, versionId, 'AccessDenied', 'Access Denied')
  }
  if (Buffer.byteLength(key) > keyBytesMax) return failure(key, versionId, 'KeyTooLongError', 'Your key is too long')
  return undefined
}

function failure(Key: string, VersionId: string | undefined, Code: string, Message: string): Outcome {
  return { Error: { Key, VersionId, Code, Message } }
}

function describe({ key, versionId }: Item, outcome: DeleteOutcome): Outcome {
  if ('failed' in outcome) return failure(key, versionId, outcome.failed.code, outcome.failed.message)
  return {
    Deleted: {
      Key: key,
      VersionId: versionId === undefined ? undefined : outcome.versionId,
      DeleteMarker: outcome.isDeleteMarker ? true : undefined,
      DeleteMarkerVersionId: outcome.isDeleteMarker ? outcome.versionId : undefined,
    },
  }
}
