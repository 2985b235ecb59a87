/** The presented credential of a request: access key, scope and signed headers, before the signature is verified. */
import type { CatalogError, ErrorDetails } from 'svc/kernel'
import { algorithmName } from './canonical.ts'
import { authErrors } from './errors.ts'

export const serviceName = 's3'
export const terminator = 'aws4_request'

export interface CredentialScope {
  readonly accessKey: string
  /** `20250830` */
  readonly date: string
  readonly region: string
  /** `s3`, or `sts` for requests to that service. */
  readonly service: string
  /** `date/region/service/aws4_request` */
  readonly scope: string
}

export interface PresentedCredential {
  readonly credential: CredentialScope
  /** `host;x-amz-date`, as sent. */
  readonly signedHeaders: string
  /** Lower case, without repetition. */
  readonly names: readonly string[]
  /** The `names` that begin with `x-amz-`. */
  readonly amzNames: readonly string[]
  readonly hostSigned: boolean
}

export interface PresentedSignature {
  readonly presented: PresentedCredential
  /** The signature as the client sent it; not verified. */
  readonly signature: string
}

/** Creates the error for the place of the credential: header, query or form. */
export type Malformed = (detail: string, options?: ErrorDetails) => CatalogError

/** Error messages repeat at most this many characters of a request. */
const echoCharsMax = 128

/** Text of a request for a message, cut to a safe length. */
export function echo(text: string): string {
  return text.length <= echoCharsMax ? text : `${text.slice(0, echoCharsMax)}…`
}

const inHeader: Malformed = (detail, options) =>
  authErrors.AuthorizationHeaderMalformed(`The authorization header is malformed; ${detail}`, options)

/** `accessKey/date/region/service/aws4_request`; the access key may have slashes. */
export function parseCredential(
  text: string,
  region: string,
  malformed: Malformed,
  wanted = serviceName,
): CredentialScope {
  const parts = text.split('/')
  if (parts.length < 5) {
    throw malformed('the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".')
  }
  const [date, givenRegion, service, end] = parts.slice(-4) as [string, string, string, string]
  const accessKey = parts.slice(0, -4).join('/')
  if (accessKey === '') throw malformed('a non-empty Access Key (AKID) must be provided in the credential.')
  if (!/^\d{8}$/.test(date)) {
    throw malformed(
      `incorrect date format "${echo(date)}". This date in the credential must be in the format "yyyyMMdd".`,
    )
  }
  if (givenRegion !== region) {
    throw malformed(`the region '${echo(givenRegion)}' is wrong; expecting '${region}'`, { extra: { Region: region } })
  }
  if (service !== wanted) {
    throw malformed(`incorrect service "${echo(service)}". This endpoint belongs to "${wanted}".`)
  }
  if (end !== terminator) {
    throw malformed(`incorrect terminal "${echo(end)}". This endpoint uses "${terminator}".`)
  }
  return { accessKey, date, region, service, scope: `${date}/${region}/${service}/${end}` }
}

/** `host;x-amz-date`. A repeated name is refused, because an unsigned header could pass for a signed one. */
function parseSignedHeaders(text: string, malformed: Malformed): readonly string[] {
  const names = text.split(';')
  if (names.some(name => name === '' || name !== name.toLowerCase()) || new Set(names).size !== names.length) {
    throw malformed('SignedHeaders must be lower-case header names without repetition, separated by semicolons.')
  }
  return names
}

/** From the texts of the credential and of the list of signed headers. */
export function parsePresentedCredential(
  credential: string,
  signedHeaders: string,
  region: string,
  malformed: Malformed,
  service = serviceName,
): PresentedCredential {
  const names = parseSignedHeaders(signedHeaders, malformed)
  return {
    credential: parseCredential(credential, region, malformed, service),
    signedHeaders,
    names,
    amzNames: names.filter(name => name.startsWith('x-amz-')),
    hostSigned: names.includes('host'),
  }
}

/** Whether an `Authorization` header has a scheme of Signature Version 4, symmetric or asymmetric. */
export const isOfVersion4 = (header: string): boolean => header.startsWith('AWS4-')

/** Parses an `Authorization` header. Throws the error of its scheme unless it is AWS4-HMAC-SHA256. */
export function parseAuthorization(header: string, region: string, service = serviceName): PresentedSignature {
  const space = header.indexOf(' ')
  const scheme = space < 0 ? header : header.slice(0, space)
  if (scheme !== algorithmName) throw unsupportedScheme(scheme)
  let credential: string | undefined
  let signedHeaders: string | undefined
  let signature: string | undefined
  for (const component of header.slice(space + 1).split(',')) {
    const equals = component.indexOf('=')
    const value = component.slice(equals + 1).trim()
    const name = component.slice(0, Math.max(equals, 0)).trim()
    if (name === 'Credential' && credential === undefined) credential = value
    else if (name === 'SignedHeaders' && signedHeaders === undefined) signedHeaders = value
    else if (name === 'Signature' && signature === undefined) signature = value
    else throw inHeader('expecting Credential, SignedHeaders and Signature, each once, separated by commas.')
  }
  if (!credential || !signedHeaders || !signature) {
    throw inHeader('the authorization header requires three components: Credential, SignedHeaders, and Signature.')
  }
  return {
    presented: parsePresentedCredential(credential, signedHeaders, region, inHeader, service),
    signature,
  }
}

/** Compared with each timestamp, because the scope's date is part of the signing key. */
export function dateMismatch(
  credential: CredentialScope,
  timestamp: string,
  malformed: Malformed = inHeader,
): CatalogError {
  return malformed(
    `Invalid credential date "${credential.date}". This date is not the same as X-Amz-Date: "${timestamp.slice(0, 8)}".`,
  )
}

function unsupportedScheme(scheme: string): CatalogError {
  if (scheme.startsWith('AWS4-ECDSA')) return authErrors.NotImplemented()
  return authErrors.InvalidArgument('Unsupported Authorization Type', { extra: { ArgumentName: 'Authorization' } })
}
