/**
 * Scrape tokens: JSON Web Tokens with HS512, signed with the secret key of the identity in `sub`. Nothing is stored: a token
 * ends with its expiry or when that secret key changes.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import 'svc/plugins/http/api'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import { type PolicyService, requestConditions } from 'svc/plugins/policy/api'
import { prometheusErrors } from './errors.ts'

/** Loaded with the first token: most servers see none. */
const jose = () => import('jose')

const issuer = 'prometheus'
/** Longer headers are not tokens of this server. */
const tokenCharactersMax = 4096

/** A token that lets `accessKey` scrape until `expiresAtMs`. */
export async function createScrapeToken(
  accessKey: string,
  key: KeyObject,
  nowMs: number,
  expiresAtMs: number,
): Promise<string> {
  const { SignJWT } = await jose()
  return new SignJWT()
    .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
    .setIssuer(issuer)
    .setSubject(accessKey)
    .setIssuedAt(Math.floor(nowMs / 1000))
    .setExpirationTime(Math.floor(expiresAtMs / 1000))
    .sign(key)
}

type ScrapeRequest = Pick<FastifyRequest, 'headers' | 'exchange'>

/** Resolves with the identity of the token; rejects with `access_denied` unless it is valid and may scrape. */
export function createTokenCheck(
  iam: Pick<IamService, 'credentials' | 'verificationKey'>,
  policy: Pick<PolicyService, 'isAllowed'>,
  nowMs: () => number,
): (request: ScrapeRequest) => Promise<Identity> {
  // Tokens of unknown access keys are verified with a random key, so that the time does not reveal whether a key exists.
  const nobody = createSecretKey(randomBytes(64))
  return async ({ headers, exchange }) => {
    const token = bearerOf(headers.authorization)
    if (token === undefined) throw prometheusErrors.access_denied()
    const { decodeJwt, jwtVerify } = await jose()
    let accessKey: string | undefined
    try {
      accessKey = decodeJwt(token).sub ?? ''
      await jwtVerify(token, (await iam.verificationKey(accessKey)) ?? nobody, {
        algorithms: ['HS512'],
        issuer,
        requiredClaims: ['sub', 'exp'],
        currentDate: new Date(nowMs()),
      })
    } catch {
      // Malformed, foreign, expired or forged: the caller learns only that it is refused.
      throw prometheusErrors.access_denied()
    }
    const identity = (await iam.credentials(accessKey))?.identity
    const conditions = () =>
      requestConditions({
        sourceAddress: exchange.clientAddress,
        secure: exchange.secure,
        timeMs: nowMs(),
        headers,
      })
    if (identity === undefined || !policy.isAllowed({ identity, action: 'admin:Prometheus', conditions })) {
      throw prometheusErrors.access_denied()
    }
    return identity
  }
}

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > tokenCharactersMax) return undefined
  return /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1]
}
