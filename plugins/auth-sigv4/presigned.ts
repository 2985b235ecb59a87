/** The parameters of a presigned request. Source: AWS "Authenticating requests: using query parameters". */
import type { CatalogError, ErrorDetails } from 'svc/kernel'
import { algorithmName, type QueryParameter } from './canonical.ts'
import { decodeAscii } from './encoding.ts'
import { authErrors } from './errors.ts'
import { type PresentedCredential, parsePresentedCredential } from './presented-credential.ts'
import { expiresSecondsMax } from './time.ts'

const malformed = (detail?: string, options?: ErrorDetails): CatalogError =>
  authErrors.AuthorizationQueryParametersError(detail, options)

/** The counterpart of the error for the header, in the words of query parameters. */
export const malformedCredential = (detail: string, options?: ErrorDetails): CatalogError =>
  malformed(`Error parsing the X-Amz-Credential parameter; ${detail}`, options)

export interface PresignedParameters {
  readonly signature: QueryParameter
  /** Encoded credential and list of signed headers: the key of the cache. */
  readonly credentialText: string
  readonly credential: string
  readonly signedHeaders: string
  readonly timestamp: string
  readonly expiresSeconds: number
  /** `X-Amz-Content-Sha256` */
  readonly contentSha256: string | undefined
  /** `X-Amz-Security-Token`, decoded. */
  readonly token: string | undefined
}

const value = ({ pair, valueStart }: QueryParameter): string => pair.slice(valueStart)

/** Whether the parameter makes a request presigned, even if others are missing. */
export const isSignatureParameter = ({ name }: QueryParameter): boolean =>
  name === 'X-Amz-Algorithm' || name === 'X-Amz-Signature' || name === 'X-Amz-Credential'

/** Throws AuthorizationQueryParametersError for missing, repeated or invalid parameters. */
export function readPresigned(parameters: readonly QueryParameter[]): PresignedParameters {
  let algorithm: QueryParameter | undefined
  let credential: QueryParameter | undefined
  let date: QueryParameter | undefined
  let expires: QueryParameter | undefined
  let signedHeaders: QueryParameter | undefined
  let signature: QueryParameter | undefined
  let contentSha256: QueryParameter | undefined
  let token: QueryParameter | undefined
  for (const parameter of parameters) {
    if (!parameter.name.startsWith('X-Amz-')) continue
    let previous: QueryParameter | undefined
    switch (parameter.name) {
      case 'X-Amz-Algorithm':
        previous = algorithm
        algorithm = parameter
        break
      case 'X-Amz-Credential':
        previous = credential
        credential = parameter
        break
      case 'X-Amz-Date':
        previous = date
        date = parameter
        break
      case 'X-Amz-Expires':
        previous = expires
        expires = parameter
        break
      case 'X-Amz-SignedHeaders':
        previous = signedHeaders
        signedHeaders = parameter
        break
      case 'X-Amz-Signature':
        previous = signature
        signature = parameter
        break
      case 'X-Amz-Content-Sha256':
        previous = contentSha256
        contentSha256 = parameter
        break
      case 'X-Amz-Security-Token':
        previous = token
        token = parameter
        break
    }
    if (previous !== undefined) throw malformed(`${parameter.name} must be given once.`)
  }
  if (!algorithm || !credential || !date || !expires || !signedHeaders || !signature) throw malformed()
  const name = value(algorithm)
  if (name.startsWith('AWS4-ECDSA')) throw authErrors.NotImplemented()
  if (name !== algorithmName) throw malformed(`X-Amz-Algorithm only supports "${algorithmName}"`)
  return {
    signature,
    credentialText: `${credential.pair}&${signedHeaders.pair}`,
    credential: value(credential),
    signedHeaders: value(signedHeaders),
    timestamp: value(date),
    expiresSeconds: readExpires(value(expires)),
    contentSha256: contentSha256 === undefined ? undefined : decodeAscii(value(contentSha256)),
    token: token === undefined ? undefined : decodeAscii(value(token)),
  }
}

export function readPresentedCredential(
  { credential, signedHeaders }: PresignedParameters,
  region: string,
): PresentedCredential {
  return parsePresentedCredential(decodeAscii(credential), decodeAscii(signedHeaders), region, malformedCredential)
}

function readExpires(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw malformed('X-Amz-Expires should be a number')
  const seconds = Number(text)
  if (seconds < 1) throw malformed('X-Amz-Expires must be at least 1 second')
  if (seconds > expiresSecondsMax) {
    throw malformed(
      `X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than ${expiresSecondsMax} seconds`,
    )
  }
  return seconds
}
