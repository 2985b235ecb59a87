/** A part as a request brings it: its checksum may be of another algorithm than its upload's. */
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Body, ObjectsService, Upload, UploadPart } from 'svc/plugins/objects/api'
import { requirePartAlgorithm, verifyingBody } from './part-checksums.ts'

export interface NewPart {
  readonly upload: Upload
  readonly partNumber: number
  readonly body: Body
  /** That the request announces. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
}

/** `claimed`: what the request said of its body and was verified, where the part does not keep it. Throws InvalidRequest. */
export async function putPart(
  { upload, partNumber, body, checksumAlgorithm }: NewPart,
  { objects, checksums }: { readonly objects: ObjectsService; readonly checksums: ChecksumsService },
): Promise<{ readonly part: UploadPart; readonly claimed: ReturnType<Body['expectedDigests']>['checksum'] }> {
  requirePartAlgorithm(upload, checksumAlgorithm)
  const isOther = checksumAlgorithm !== undefined && checksumAlgorithm !== upload.checksumAlgorithm
  const verified = isOther ? verifyingBody(body, checksumAlgorithm, checksums) : body
  const part = await objects.putPart(upload, partNumber, verified)
  return { part, claimed: isOther ? body.expectedDigests().checksum : undefined }
}
