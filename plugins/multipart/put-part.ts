/** Stores a part from a request, whose checksum may be of another algorithm than its upload's. */
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Body, ObjectsService, Upload, UploadPart } from 'svc/plugins/objects/api'
import { requirePartAlgorithm, verifyingBody } from './part-checksums.ts'

export interface NewPart {
  readonly upload: Upload
  readonly partNumber: number
  readonly body: Body
  /** The algorithm that the request announces. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
}

/** `verified`: a checksum of another algorithm, which was verified and is not stored. Throws InvalidRequest. */
export async function putPart(
  { upload, partNumber, body, checksumAlgorithm }: NewPart,
  { objects, checksums }: { readonly objects: ObjectsService; readonly checksums: ChecksumsService },
): Promise<{ readonly part: UploadPart; readonly verified: ReturnType<Body['expectedDigests']>['checksum'] }> {
  requirePartAlgorithm(upload, checksumAlgorithm)
  const isOther = checksumAlgorithm !== undefined && checksumAlgorithm !== upload.checksumAlgorithm
  const checked = isOther ? verifyingBody(body, checksumAlgorithm, checksums) : body
  const part = await objects.putPart(upload, partNumber, checked)
  return { part, verified: isOther ? body.expectedDigests().checksum : undefined }
}
