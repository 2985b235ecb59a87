import { type CatalogError, defineErrors, isCatalogError } from 'svc/kernel'

/** Errors of signatures and signed bodies. Codes and statuses as in the AWS S3 error list. */
export const authErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied' },
  AuthorizationHeaderMalformed: { status: 400, title: 'The authorization header is malformed.' },
  AuthorizationQueryParametersError: {
    status: 400,
    title:
      'Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.',
  },
  ExpiredToken: { status: 400, title: 'The provided token has expired.' },
  IncompleteBody: { status: 400, title: 'The request body terminated unexpectedly.' },
  InvalidAccessKeyId: {
    status: 403,
    title: 'The AWS Access Key Id you provided does not exist in our records.',
    verbatim: true,
  },
  InvalidArgument: { status: 400, title: 'Invalid argument.' },
  InvalidChunkSizeError: {
    status: 400,
    title: 'Only the last chunk is allowed to have a size less than 8192 bytes.',
  },
  InvalidRequest: {
    status: 400,
    title: 'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
  },
  InvalidToken: { status: 400, title: 'The provided token is malformed or otherwise invalid.' },
  MalformedTrailerError: {
    status: 400,
    title: 'The request contained trailing data that was not well-formed or did not conform to our published schema.',
  },
  NotImplemented: { status: 501, title: 'Asymmetric signatures (AWS4-ECDSA-P256-SHA256) are not implemented.' },
  RequestTimeTooSkewed: {
    status: 403,
    title: 'The difference between the request time and the current time is too large.',
    verbatim: true,
  },
  SignatureDoesNotMatch: {
    status: 403,
    title:
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    verbatim: true,
  },
  XAmzContentSHA256Mismatch: {
    status: 400,
    title: "The provided 'x-amz-content-sha256' header does not match what was computed.",
    verbatim: true,
  },
})

/** An unknown access key may be a secret in the wrong field: the first characters are enough to find the client, and too few to be used. */
const unknownCharsMax = 4

/** Tags for the audit record of a refused request: those of the error or of its cause, and the presented access key. */
export function auditTagsOf(error: unknown): Readonly<Record<string, string>> | undefined {
  if (!isCatalogError(error)) return undefined
  const { cause } = error
  const claimedAccessKey = claimedAccessKeyOf(error) ?? claimedAccessKeyOf(cause)
  const tags = error.tags ?? (isCatalogError(cause) ? cause.tags : undefined)
  return claimedAccessKey === undefined ? tags : { ...tags, claimedAccessKey }
}

/** The presented access key, of an unknown one only the beginning. Undefined for errors without an access key. */
function claimedAccessKeyOf(thrown: unknown): string | undefined {
  const claimed = isCatalogError(thrown) ? thrown.extra?.AWSAccessKeyId : undefined
  if (claimed === undefined || (thrown as CatalogError).code !== 'InvalidAccessKeyId') return claimed
  return claimed.length <= unknownCharsMax ? claimed : `${claimed.slice(0, unknownCharsMax)}…`
}
