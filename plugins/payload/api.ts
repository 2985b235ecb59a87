/**
 * Payloads: the bytes of objects between a socket and the storage, for any protocol. A request's body with the length and the
 * digests that its headers announce, and an answer's body in chunks. Shared by `s3` and `admin`; it is not a plugin that is loaded.
 */
export { ClientGoneError, noBody, RequestBody } from './body.ts'
export { type ChunkSource, sendChunks } from './chunks.ts'

export {
  type Coding,
  type CompressionJob,
  chooseCoding,
  codedBytesMax,
  codedBytesMin,
  codedEtag,
  compress,
  isCompressible,
  plainEtags,
  startCompression,
} from './content-coding.ts'
export { payloadErrors } from './errors.ts'
export { checksumBytes, type ExpectedPayload, readExpectedPayload } from './expected-payload.ts'
export { asHeaderValue, headerFlaw } from './header-value.ts'
export { openPayload, type Payload } from './payload.ts'
export { readAway, resetRest } from './read-away.ts'
