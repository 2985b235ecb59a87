/** Locks in headers: `x-amz-object-lock-…` of writes and reads. */
import { type ObjectLock, objectErrors, type Retention } from 'svc/plugins/objects/api'
import { type AttributeRequest, isoTime, type S3Attribute, s3Errors } from 'svc/plugins/s3/api'
import { parseTime, requireMode } from './retention.ts'

const modeHeader = 'x-amz-object-lock-mode'
const untilHeader = 'x-amz-object-lock-retain-until-date'
const holdHeader = 'x-amz-object-lock-legal-hold'

export const lockHeaders: S3Attribute = {
  // CreateBucket reads the last header; without this plugin a bucket with object lock would be of no use.
  headers: [modeHeader, untilHeader, holdHeader, 'x-amz-bucket-object-lock-enabled'],
  read(request) {
    const retention = readRetention(request)
    const legalHold = readLegalHold(request)
    if (retention === undefined && legalHold === undefined) return undefined
    const lock: ObjectLock = { retention, legalHold }
    return { lock }
  },
  describe(request, { lock, bucket, key }) {
    if (lock === undefined) return undefined
    const headers: Record<string, string> = {}
    const versionId = request.query.get('versionId')
    if (lock.retention !== undefined && request.isAllowed('s3:GetObjectRetention', bucket, key, versionId)) {
      headers[modeHeader] = lock.retention.mode
      headers[untilHeader] = isoTime(lock.retention.retainUntilMs)
    }
    if (lock.legalHold !== undefined && request.isAllowed('s3:GetObjectLegalHold', bucket, key, versionId)) {
      headers[holdHeader] = lock.legalHold ? 'ON' : 'OFF'
    }
    return headers
  },
}

function readRetention(request: AttributeRequest): Retention | undefined {
  const mode = request.headers[modeHeader] as string | undefined
  const until = request.headers[untilHeader] as string | undefined
  if (mode === undefined && until === undefined) return undefined
  if (mode === undefined || until === undefined) {
    throw objectErrors.InvalidArgument(`${untilHeader} and ${modeHeader} must both be supplied`)
  }
  const retainUntilMs = parseTime(until)
  if (retainUntilMs === undefined) throw invalid(untilHeader, until)
  const known = requireMode(mode, () => invalid(modeHeader, mode))
  if (!request.isAllowed('s3:PutObjectRetention', request.bucket, request.key)) throw s3Errors.AccessDenied()
  return { mode: known, retainUntilMs }
}

function readLegalHold(request: AttributeRequest): boolean | undefined {
  const status = request.headers[holdHeader] as string | undefined
  if (status === undefined) return undefined
  if (status !== 'ON' && status !== 'OFF') throw invalid(holdHeader, status)
  if (!request.isAllowed('s3:PutObjectLegalHold', request.bucket, request.key)) throw s3Errors.AccessDenied()
  return status === 'ON'
}

function invalid(name: string, value: string): Error {
  return objectErrors.InvalidArgument(`The value of ${name} is not valid.`, {
    extra: { ArgumentName: name, ArgumentValue: value },
  })
}
