/** The forms of `x-amz-content-sha256`. Source: AWS "Signature calculations: transferring payload". */
import type { PayloadForm } from 'svc/plugins/iam/api'
import { emptySha256, unsignedPayload } from './canonical.ts'
import { hexDigit } from './encoding.ts'
import { authErrors } from './errors.ts'

export const streamingSigned = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'
export const streamingSignedTrailer = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'
export const streamingUnsignedTrailer = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

const emptyForm: PayloadForm = Object.freeze({ kind: 'sha256', hex: emptySha256 })
export const unsignedForm: PayloadForm = Object.freeze({ kind: 'unsigned' })

/** All forms except digests. */
const forms: ReadonlyMap<string, PayloadForm> = new Map<string, PayloadForm>([
  [emptySha256, emptyForm],
  [unsignedPayload, unsignedForm],
  [streamingSigned, Object.freeze({ kind: 'chunked', signed: true, trailer: false })],
  [streamingSignedTrailer, Object.freeze({ kind: 'chunked', signed: true, trailer: true })],
  [streamingUnsignedTrailer, Object.freeze({ kind: 'chunked', signed: false, trailer: true })],
])

/** Throws InvalidArgument for unknown forms, and NotImplemented for asymmetric ones. */
export function parsePayloadForm(value: string): PayloadForm {
  const form = forms.get(value)
  if (form !== undefined) return form
  if (isSha256(value)) return { kind: 'sha256', hex: value.toLowerCase() }
  if (value.startsWith('STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD')) throw authErrors.NotImplemented()
  throw authErrors.InvalidArgument(
    `x-amz-content-sha256 must be ${[...forms.keys()].slice(1).join(', ')} or a valid sha256 value.`,
    { extra: { ArgumentName: 'x-amz-content-sha256', ArgumentValue: value.slice(0, 128) } },
  )
}

function isSha256(value: string): boolean {
  if (value.length !== 64) return false
  for (let i = 0; i < 64; i++) if (hexDigit(value.charCodeAt(i)) < 0) return false
  return true
}
