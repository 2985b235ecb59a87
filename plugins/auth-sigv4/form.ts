/** The signature of a POST policy form. Source: AWS "Authenticating requests: browser-based uploads using POST". */
import type { CatalogError, ErrorDetails, MaybePromise } from 'svc/kernel'
import type { Authentication, SignatureGuard } from 'svc/plugins/iam/api'
import { RequestAuthentication } from './authentication.ts'
import { algorithmName } from './canonical.ts'
import { type CredentialSource, type FoundCredentials, findCredentials, requireCredentials } from './credentials.ts'
import { parseAmzDate } from './date.ts'
import { authErrors } from './errors.ts'
import { unsignedForm } from './payload.ts'
import { type CredentialScope, dateMismatch, parseCredential } from './presented-credential.ts'
import { deriveSigningKey, isSignature, sign } from './signing-key.ts'

const malformed = (detail: string, options?: ErrorDetails): CatalogError =>
  authErrors.InvalidArgument(`Error parsing the x-amz-credential field; ${detail}`, options)

const fieldNames = ['x-amz-algorithm', 'x-amz-credential', 'x-amz-date', 'x-amz-signature'] as const

/** Undefined if the form has no fields of a signature. The time is not checked, because the policy has its own expiry. */
export function authenticateForm(
  { iam, region }: { readonly iam: CredentialSource; readonly region: string },
  fields: ReadonlyMap<string, string>,
  guard: SignatureGuard | undefined,
): MaybePromise<Authentication> | undefined {
  if (fieldNames.every(name => !fields.has(name))) return undefined
  const [algorithm, credentialText, timestamp, signature] = fieldNames.map(name => requireField(fields, name)) as [
    string,
    string,
    string,
    string,
  ]
  const policy = requireField(fields, 'policy')
  if (algorithm.startsWith('AWS4-ECDSA')) throw authErrors.NotImplemented()
  if (algorithm !== algorithmName) throw authErrors.InvalidRequest()
  const credential = parseCredential(credentialText, region, malformed)
  if (Number.isNaN(parseAmzDate(timestamp))) {
    throw authErrors.InvalidArgument(`x-amz-date must be in the format "yyyyMMdd'T'HHmmss'Z'"`, {
      extra: { ArgumentName: 'x-amz-date' },
    })
  }
  if (!timestamp.startsWith(credential.date)) throw dateMismatch(credential, timestamp, malformed)
  const found = findCredentials(iam, credential.accessKey, fields.get('x-amz-security-token'), guard)
  return found instanceof Promise
    ? found.then(found => verifyPolicy(credential, policy, signature, found))
    : verifyPolicy(credential, policy, signature, found)
}

function verifyPolicy(
  credential: CredentialScope,
  policy: string,
  signature: string,
  found: FoundCredentials,
): Authentication {
  const { accessKey, date, region } = credential
  const credentials = requireCredentials(found, accessKey, 'form')
  const key = deriveSigningKey(credentials.signingSecret, date, region)
  // The string to sign of a form is its Base64 policy.
  if (!isSignature(sign(key, policy), signature)) {
    throw authErrors.SignatureDoesNotMatch(undefined, {
      extra: {
        AWSAccessKeyId: accessKey,
        StringToSign: policy,
        SignatureProvided: signature.slice(0, 128),
      },
    })
  }
  return new RequestAuthentication(credentials.identity, 'form', unsignedForm)
}

/** The value of a field that the signature needs. Throws InvalidArgument. */
export function requireField(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name)
  if (value !== undefined && value !== '') return value
  throw authErrors.InvalidArgument(
    `Bucket POST must contain a field named '${name}'.  If it is specified, please check the order of the fields.`,
    { extra: { ArgumentName: name } },
  )
}
