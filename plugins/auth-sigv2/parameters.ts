/**
 * The parameters of a request: Signature Version 2 covers those that name a sub-resource or an override of the answer, and no others. What
 * it does not cover could have been put in on the way, so that only parameters of listings, which AWS leaves unsigned too, may be there.
 */
import { authErrors } from 'svc/plugins/auth-sigv4/api'

/** Parameters that are signed by AWS's documentation, and those that botocore and s3cmd also sign. */
const signed = new Set([
  'accelerate',
  'acl',
  'analytics',
  'cors',
  'defaultObjectAcl',
  'delete',
  'inventory',
  'lifecycle',
  'location',
  'logging',
  'metrics',
  'notification',
  'object-lock',
  'partNumber',
  'policy',
  'replication',
  'requestPayment',
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
  'restore',
  'select',
  'select-type',
  'storageClass',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versionId',
  'versioning',
  'versions',
  'website',
])

/** They choose a page of a listing, or, for the last two, mean nothing: botocore repeats signed headers in the query. */
const unsigned = new Set([
  'delimiter',
  'encoding-type',
  'key-marker',
  'marker',
  'max-keys',
  'max-parts',
  'max-uploads',
  'part-number-marker',
  'prefix',
  'upload-id-marker',
  'version-id-marker',
  'list-type',
  'continuation-token',
  'fetch-owner',
  'start-after',
  'content-md5',
  'content-type',
])

/** What a presigned request is verified by: each once. */
const ofSignature = new Set(['AWSAccessKeyId', 'Signature', 'Expires'])
/** Headers in the query of a presigned request, which mean the same there; the digest of the body counts as a header alone. */
const header = /^x-amz-(?!content-sha256$)[a-z0-9._~-]+$/i

const nameCharsMax = 128

export interface SignedParameters {
  /** `AWSAccessKeyId`, `Signature` and `Expires`, decoded; empty where the request is not presigned. */
  readonly signature: ReadonlyMap<string, string>
  /** By lower-case name, decoded: each byte is one character. */
  readonly headers: ReadonlyMap<string, string>
  /** `name` or `name=value`, the value decoded, in the order in which they are signed. */
  readonly subresources: readonly string[]
}

/** Throws AccessDenied for parameters that are not signed and may not be unsigned, or that come twice where one could hide the other. */
export function readParameters(rawQuery: string, isPresigned: boolean): SignedParameters {
  const signature = new Map<string, string>()
  const headers = new Map<string, string>()
  const subresources: { readonly name: string; readonly text: string }[] = []
  const put = (map: Map<string, string>, name: string, value: string) => {
    if (map.has(name)) throw notSigned(name, 'is given twice')
    map.set(name, value)
  }
  for (const parameter of rawQuery.split('&')) {
    if (parameter === '') continue
    const equals = parameter.indexOf('=')
    const name = equals < 0 ? parameter : parameter.slice(0, equals)
    const raw = equals < 0 ? '' : parameter.slice(equals + 1)
    if (signed.has(name)) {
      const value = readValue(name, raw.replaceAll('+', ' '))
      // Signed decoded and joined with `&`, it would say the same as two parameters, and take the second one out of the request.
      if (value.split('&').some((text, index) => index > 0 && signed.has(text.split('=', 1)[0]!))) {
        throw notSigned(name, 'holds the name of another parameter')
      }
      subresources.push({ name, text: equals < 0 ? name : `${name}=${value}` })
    } else if (isPresigned && ofSignature.has(name)) put(signature, name, readValue(name, raw))
    else if (isPresigned && header.test(name)) {
      put(headers, name.toLowerCase(), readValue(name, raw.replaceAll('+', ' ')))
    } else if (!unsigned.has(name)) throw notSigned(name, 'is not covered by Signature Version 2')
  }
  subresources.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return { signature, headers, subresources: subresources.map(({ text }) => text) }
}

function notSigned(name: string, problem: string): Error {
  const shown = name.slice(0, nameCharsMax)
  return authErrors.AccessDenied(`The parameter ${shown} ${problem}.`, { extra: { ParametersNotSigned: shown } })
}

/**
 * Percent-decoded to bytes, one character each, as Node gives the heads of requests; a broken escape stands for itself. A line break in it
 * would say the same as a line of the string to sign.
 */
function readValue(name: string, raw: string): string {
  const value = raw.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  for (let i = 0; i < value.length; i++) {
    if (value.charCodeAt(i) < 32) throw notSigned(name, 'holds a control character')
  }
  return value
}
