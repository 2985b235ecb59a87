/** Tags in headers: `x-amz-tagging` of writes, `x-amz-tagging-count` of reads. */
import { objectErrors, type Tags } from 'svc/plugins/objects/api'
import { type S3Attribute, s3Errors } from 'svc/plugins/s3/api'
import { collectTags } from './tag-set.ts'

const header = 'x-amz-tagging'

export const objectTags: S3Attribute = {
  headers: [header],
  read(request) {
    const text = request.headers[header] as string | undefined
    if (text === undefined || text === '') return undefined
    if (!request.isAllowed('s3:PutObjectTagging', request.bucket, request.key)) throw s3Errors.AccessDenied()
    const tags = parseTags(text)
    return tags.size === 0 ? undefined : { tags }
  },
  describe(request, { tags, bucket, key }) {
    if (tags === undefined) return undefined
    const versionId = request.query.get('versionId')
    const action = versionId === undefined ? 's3:GetObjectTagging' : 's3:GetObjectVersionTagging'
    if (!request.isAllowed(action, bucket, key, versionId)) return undefined
    return { 'x-amz-tagging-count': String(tags.size) }
  },
}

/** `a=1&b=2`, each part percent-encoded UTF-8; `+` is a space. */
function parseTags(text: string): Tags {
  // Empty pairs are none, as in the query of an address.
  const given = text.split('&').filter(pair => pair !== '')
  const pairs = given.map(pair => {
    const equals = pair.indexOf('=')
    return equals === -1 ? ([pair, ''] as const) : ([pair.slice(0, equals), pair.slice(equals + 1)] as const)
  })
  const decoded = pairs.map(([key, value]) => [decode(key, text), decode(value, text)] as const)
  if (new Set(decoded.map(([key]) => key)).size < decoded.length) throw invalid(text)
  return collectTags(decoded, 'object')
}

function decode(part: string, text: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch (cause) {
    throw invalid(text, cause)
  }
}

function invalid(text: string, cause?: unknown) {
  return objectErrors.InvalidArgument(
    "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
    { cause, extra: { ArgumentName: header, ArgumentValue: text } },
  )
}
