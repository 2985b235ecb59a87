import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { Authentication } from 'svc/plugins/iam/api'
import { RequestBody } from './body.ts'
import { readClaims } from './claims.ts'

/** What a request brings to be stored. */
export interface Payload {
  readonly body: RequestBody
  /** Announced by header or trailer; known before the body. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
}

const unsigned: Pick<Authentication, 'method' | 'payload' | 'createDecoder'> = {
  method: 'header',
  payload: { kind: 'unsigned' },
  createDecoder: () => undefined,
}

/**
 * The payload of a request outside of the S3 protocol, with the same claims in the same headers. Without `authentication` nothing is
 * signed. Throws S3's codes for claims that cannot be.
 */
export function openPayload(
  exchange: Exchange,
  authentication: Authentication | undefined,
  checksums: ChecksumsService,
): Payload {
  const signed = authentication ?? unsigned
  const claims = readClaims(exchange.request.headers, signed, checksums)
  return {
    body: new RequestBody(exchange, checksums, claims, signed.createDecoder()),
    checksumAlgorithm: claims.algorithm,
  }
}
