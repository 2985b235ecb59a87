/** URLs of objects, and their signers. */
import { type AdminRequest, adminErrors, invalidFields } from 'svc/plugins/admin/api'
import type { AuthSigv4Service, Signer } from 'svc/plugins/auth-sigv4/api'
import type { IamService } from 'svc/plugins/iam/api'
import { headerFlaw } from 'svc/plugins/payload/api'
import type { S3Service } from 'svc/plugins/s3/api'

/** The URL of an object as S3 accepts it: everything but letters, digits, `-._~` and slashes is encoded. */
export function objectUrl(
  endpoint: string,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  parameters: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const query = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
    .join('&')
  const path = `${encode(bucket)}/${encode(key).replaceAll('%2F', '/')}`
  return `${endpoint}/${path}${query === '' ? '' : `?${query}`}`
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** `Content-Disposition` that makes a browser save it under this name. */
export function attachment(fileName: string): string {
  // Refused before it is in a link.
  const flaw = fileName.includes('/')
    ? 'has a slash, which no file name has'
    : headerFlaw('content-disposition', fileName)
  if (flaw !== undefined) throw invalidFields([{ element: '/filename', message: flaw }])
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encode(fileName)}`
}

export interface OwnSigner extends Signer {
  /** The session token of temporary credentials: part of the signature. */
  readonly sessionToken: string | undefined
  /** When what is signed ends that is meant to end then, in milliseconds since 1970: no later than the credentials. */
  endOf(expiresMs: number): number
}

/** The caller's own credentials. Throws `access_denied` where there are none to sign with. */
export async function signerOf(
  { identity, headers }: Pick<AdminRequest, 'identity' | 'headers'>,
  { iam, authSigv4, s3 }: { readonly iam: IamService; readonly authSigv4: AuthSigv4Service; readonly s3: S3Service },
): Promise<OwnSigner> {
  if (await s3.isRootDenied(identity)) {
    throw adminErrors.access_denied('Root may not use the S3 API, so its links would not be served.')
  }
  const { accessKey, kind } = identity!
  const token = headers['x-amz-security-token']
  const sessionToken = kind === 'session' && typeof token === 'string' ? token : undefined
  const credentials =
    sessionToken === undefined
      ? await iam.credentials(accessKey)
      : await iam.sessionCredentials(accessKey, sessionToken)
  if (credentials === undefined || typeof credentials === 'string') throw adminErrors.access_denied()
  const { signingSecret: secret, expiresMs: endMs = Number.POSITIVE_INFINITY } = credentials
  return { accessKey, secret, region: authSigv4.region, sessionToken, endOf: expiresMs => Math.min(expiresMs, endMs) }
}
