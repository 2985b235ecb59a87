/** What the fields of a form mean: the key, the headers that they stand for, and where the browser goes afterwards. */
import type { IncomingHttpHeaders } from 'node:http'
import { objectErrors } from 'svc/plugins/objects/api'
import { asHeaderValue } from 'svc/plugins/payload/api'
import { childrenNamed, childText, readXml, requireShape, s3Errors } from 'svc/plugins/s3/api'
import { tagSetElements } from 'svc/plugins/tagging/api'

const fileNameVariable = '$' + '{filename}'
/** The signature is over these as they are. */
const signing = new Set([
  'awsaccesskeyid',
  'signature',
  'policy',
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-security-token',
  'x-amz-signature',
])
/** Fields beside `x-amz-…` that stand for the header of the same name. */
const headerFields = new Set([
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-md5',
  'content-type',
  'expires',
])

/** Every field with the file's name where it asks for it. */
export function expandFileName(fields: ReadonlyMap<string, string>, fileName: string): ReadonlyMap<string, string> {
  const expanded = new Map<string, string>()
  for (const [name, value] of fields) {
    expanded.set(name, signing.has(name) ? value : value.replaceAll(fileNameVariable, () => fileName))
  }
  return expanded
}

/** Throws InvalidArgument unless the form names a key. */
export function requireKey(fields: ReadonlyMap<string, string>): string {
  const key = fields.get('key')
  if (key === undefined) throw missingField('key')
  if (key === '') throw objectErrors.InvalidArgument('User key must have a length greater than 0.')
  return key
}

export function missingField(name: string) {
  return objectErrors.InvalidArgument(
    `Bucket POST must contain a field named '${name}'.  If it is specified, please check the order of the fields.`,
    { extra: { ArgumentName: name, ArgumentValue: '' } },
  )
}

/** Throws InvalidArgument for a value that no header can hold, MalformedXML for tags that are no such document. */
export function headersOf(fields: ReadonlyMap<string, string>): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  for (const [name, value] of fields) {
    const isHeader = headerFields.has(name) || (name.startsWith('x-amz-') && !signing.has(name))
    if (isHeader) headers[name] = asHeaderValue(name, value)
    else if (name === 'acl') headers['x-amz-acl'] = asHeaderValue(name, value)
    else if (name === 'tagging') headers['x-amz-tagging'] = taggingHeader(value)
  }
  return headers
}

/** Far more than the tags of an object have. */
const tagElementsMax = 1000

/** In a form tags are a document, in a request of their own a header. */
function taggingHeader(document: string): string {
  const xml = readXml(Buffer.from(document, 'utf8'), 'Tagging', tagElementsMax)
  requireShape(xml, { TagSet: tagSetElements })
  const sets = childrenNamed(xml, 'TagSet')
  if (sets.length !== 1) throw s3Errors.MalformedXML('Tagging holds one TagSet.')
  return sets[0]!.children
    .map(tag => {
      const [key, value] = [childText(tag, 'Key'), childText(tag, 'Value')]
      if (key === undefined || value === undefined) throw s3Errors.MalformedXML('A Tag has a Key and a Value.')
      return `${encodeURIComponent(key)}=${encodeURIComponent(value)}`
    })
    .join('&')
}

/** Status of success without a redirect: what the form asks for, or 204. */
export function successStatus(fields: ReadonlyMap<string, string>): 200 | 201 | 204 {
  const status = fields.get('success_action_status')
  return status === '200' ? 200 : status === '201' ? 201 : 204
}

/** Where the browser is sent; undefined where the form says nothing that is an http or https URL: then it is as if it said nothing. */
export function redirectOf(
  fields: ReadonlyMap<string, string>,
  stored: { readonly bucket: string; readonly key: string; readonly etag: string },
): string | undefined {
  const text = fields.get('success_action_redirect') ?? fields.get('redirect')
  const url = text === undefined ? null : URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  const query = [
    `bucket=${encodeURIComponent(stored.bucket)}`,
    `key=${encodeURIComponent(stored.key)}`,
    `etag=${encodeURIComponent(`"${stored.etag}"`)}`,
  ].join('&')
  url.search = url.search === '' ? query : `${url.search}&${query}`
  return url.href
}
