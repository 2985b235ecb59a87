import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { Authentication } from 'svc/plugins/iam/api'
import { RequestBody } from './body.ts'
import { readExpectedPayload } from './expected-payload.ts'

/** The payload of a request, and the algorithm of its checksum. */
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
 * The payload of a request outside of the S3 protocol, with the same headers for length and digests. Without `authentication` nothing
 * is signed. Throws the codes of S3 for malformed headers.
 */
export function openPayload(
  exchange: Exchange,
  authentication: Authentication | undefined,
  checksums: ChecksumsService,
): Payload {
  const signed = authentication ?? unsigned
  const expected = readExpectedPayload(exchange.request.headers, signed, checksums)
  return {
    body: new RequestBody(exchange, checksums, expected, signed.createDecoder()),
    checksumAlgorithm: expected.algorithm,
  }
}
