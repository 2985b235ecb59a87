/**
 * Signature Version 2 as the provider `sigv2` of `auth.provider`. The signature is HMAC-SHA-1(secret, text of the request). The text
 * has neither a region nor the digest of the body, so Version 4 is safer. The checks come in the order of Version 4: form, time, access
 * key, signature.
 * Source: AWS "Signing and authenticating REST requests (AWS signature version 2)", "Browser-based uploads using POST".
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, chain, type MaybePromise } from 'svc/kernel'
import {
  authErrors,
  type CredentialSource,
  checkSkew,
  type FoundCredentials,
  findCredentials,
  isoSeconds,
  redact,
  requireCredentials,
  requireField,
} from 'svc/plugins/auth-sigv4/api'
import type { AuthProvider, Identity, Principal, SignatureGuard, SignedRequest } from 'svc/plugins/iam/api'
import { parseDate } from './date.ts'
import { sigv2Errors } from './errors.ts'
import { readParameters } from './parameters.ts'
import { stringsToSign } from './string-to-sign.ts'

export interface Sigv2Options {
  readonly iam: CredentialSource & { readonly owner: Identity }
  readonly clock: Clock
  /** The setting `signature_v2` of `api`, as of now. */
  readonly isOn: () => MaybePromise<boolean>
}

export const expiresAheadMsMax = 7 * 86_400_000
const echoCharsMax = 128

const accessKeyParameter = /(?:^|&)AWSAccessKeyId(?=[=&]|$)/
const anySignatureParameter = /(?:^|&)(?:AWSAccessKeyId|Signature)(?=[=&]|$)/
/** Base64 of the 20 bytes of an HMAC-SHA1. */
const signaturePattern = /^[A-Za-z0-9+/]{27}=$/

/** What was signed, and who is said to have signed it. */
interface PresentedCredential {
  readonly accessKey: string
  readonly signature: string
  /** What may have been signed: each means the same request. */
  readonly texts: readonly string[]
  readonly token: string | string[] | undefined
  readonly method: Principal['method']
  readonly signedMs?: number
}

export function createSigv2({ iam, clock, isOn }: Sigv2Options): AuthProvider {
  /** `read` is called only where the setting is on: otherwise nothing of what was sent counts. */
  const authenticate = (guard: SignatureGuard | undefined, read: () => PresentedCredential): MaybePromise<Principal> =>
    chain(isOn(), on => {
      if (!on) {
        throw sigv2Errors.InvalidRequest(
          'Signature Version 2 is off on this server. Sign with Version 4, or have its operator turn on signature_v2 in the settings of the S3 API (api.signature_v2=on).',
        )
      }
      const presented = read()
      return chain(findCredentials(iam, presented.accessKey, presented.token, guard), found => verify(presented, found))
    })

  function verify(presented: PresentedCredential, found: FoundCredentials): Principal {
    const { accessKey, signature, texts, method, signedMs } = presented
    // As by header wherever it stood: a share is never good for it.
    const { identity, verificationKey } = requireCredentials(found, accessKey, 'header')
    const given = signaturePattern.test(signature) ? Buffer.from(signature, 'base64') : undefined
    const isRight = texts.some(text => {
      const expected = createHmac('sha1', verificationKey).update(text, 'latin1').digest()
      return given !== undefined && timingSafeEqual(expected, given)
    })
    if (!isRight) {
      throw authErrors.SignatureDoesNotMatch(undefined, {
        extra: {
          AWSAccessKeyId: accessKey,
          StringToSign: redact(texts[0]!),
          SignatureProvided: signature.slice(0, echoCharsMax),
        },
      })
    }
    // A session that root made has all its rights, or some of them.
    if (identity.isRoot || (identity.kind === 'session' && identity.userName === iam.owner.accessKey)) {
      throw authErrors.AccessDenied('Root may not use Signature Version 2. Sign with Version 4.')
    }
    return { identity, method, signatureVersion: 'AWS', signedMs }
  }

  function readHeader(request: SignedRequest, authorization: string): PresentedCredential {
    const { headers, rawQuery } = request
    if (anySignatureParameter.test(rawQuery)) throw argument('Only one auth mechanism allowed.')
    const text = authorization.slice('AWS '.length).trim()
    // An access key may hold colons, and Base64 none.
    const colon = text.lastIndexOf(':')
    if (colon < 1) throw argument('AWS authorization header is invalid.  Expected AwsAccessKeyId:signature')
    const amzDate = headers['x-amz-date']
    const date = amzDate ?? headers.date
    const signedMs = typeof date === 'string' ? parseDate(date) : Number.NaN
    if (Number.isNaN(signedMs)) {
      throw authErrors.AccessDenied('AWS authentication requires a valid Date or x-amz-date header')
    }
    checkSkew(signedMs, clock.now())
    return {
      accessKey: text.slice(0, colon),
      signature: text.slice(colon + 1),
      texts: stringsToSign(request, amzDate === undefined ? (date as string) : '', readParameters(rawQuery, false)),
      token: headers['x-amz-security-token'],
      method: 'header',
      signedMs,
    }
  }

  function readPresigned(request: SignedRequest): PresentedCredential {
    const parameters = readParameters(request.rawQuery, true)
    const { signature: given, headers } = parameters
    const [accessKey, signature, expires] = [given.get('AWSAccessKeyId'), given.get('Signature'), given.get('Expires')]
    if (!accessKey || !signature || !expires) {
      throw authErrors.AccessDenied(
        'Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters',
      )
    }
    checkExpires(expires, clock.now())
    return {
      accessKey,
      signature,
      texts: stringsToSign(request, expires, parameters),
      token: headers.get('x-amz-security-token') ?? request.headers['x-amz-security-token'],
      method: 'presigned',
    }
  }

  return {
    authenticate(request, guard) {
      const { authorization } = request.headers
      if (request.api !== 's3') return undefined
      if (authorization) {
        if (authorization !== 'AWS' && !authorization.startsWith('AWS ')) return undefined
        return authenticate(guard, () => readHeader(request, authorization))
      }
      if (!accessKeyParameter.test(request.rawQuery)) return undefined
      return authenticate(guard, () => readPresigned(request))
    },

    /** The string to sign of a form is the Base64 of its policy, which carries its own expiry. */
    authenticateForm(fields, guard) {
      if (!fields.has('awsaccesskeyid') && !fields.has('signature')) return undefined
      return authenticate(guard, () => ({
        accessKey: requireField(fields, 'awsaccesskeyid'),
        signature: requireField(fields, 'signature'),
        texts: [requireField(fields, 'policy')],
        token: fields.get('x-amz-security-token'),
        method: 'form',
      }))
    },
  }
}

function checkExpires(text: string, nowMs: number): void {
  if (!/^\d{1,12}$/.test(text)) {
    throw authErrors.AccessDenied(`Invalid date (should be seconds since epoch): ${text.slice(0, echoCharsMax)}`)
  }
  const endMs = Number(text) * 1000
  if (nowMs > endMs) {
    throw authErrors.AccessDenied('Request has expired', {
      extra: { Expires: isoSeconds(endMs), ServerTime: isoSeconds(nowMs) },
    })
  }
  if (endMs - nowMs > expiresAheadMsMax) {
    throw authErrors.AccessDenied('Expires must be at most 7 days ahead', { extra: { ServerTime: isoSeconds(nowMs) } })
  }
}

function argument(detail: string): Error {
  return authErrors.InvalidArgument(detail, { extra: { ArgumentName: 'Authorization' } })
}
