/**
 * Payloads: the bytes of objects on their way between a socket and the storage, whichever protocol carries them. A request's
 * body with the length and digests that its headers claim, and an answer's body in chunks. A room that `s3` and `admin` share; no
 * plugin is loaded for it.
 */
export { ClientGoneError, noBody, RequestBody } from './body.ts'
export { type ChunkSource, sendChunks } from './chunks.ts'
export { checksumBytes, type PayloadClaims, readClaims } from './claims.ts'
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
export { asHeaderValue } from './header-value.ts'
export { openPayload, type Payload } from './payload.ts'
export { readAway } from './read-away.ts'
