/**
 * Requests of clients of other services of AWS, which somebody has pointed at this endpoint: IAM, SQS, DynamoDB. They are told so, in the form
 * that their clients read, where a complaint about their signature would send people to look for a wrong key.
 */
import { sendDocument } from './answer.ts'
import type { S3RequestContext } from './request.ts'
import { writeElement, xmlDeclaration } from './xml-writer.ts'

const scope = /^AWS4-HMAC-SHA256 +Credential=[^,]{1,200}\/([a-z0-9.-]{1,40})\/aws4_request\b/

/** Clients of MinIO's own Admin API sign for no region; those of S3 never do, so that a bucket of that name stays one. */
const minioScope = /^AWS4-HMAC-SHA256 +Credential=[^,]{1,200}\/\/s3\/aws4_request\b/
const minioAdmin = 'minio-admin'

/** The service that a request is signed for, where it is neither S3 nor one that a plugin brings. */
export function foreignServiceOf({ level, bucket, key, headers, environment }: S3RequestContext): string | undefined {
  if (headers.authorization === undefined) return undefined
  if (bucket === 'minio' && key.startsWith('admin/') && minioScope.test(headers.authorization)) return minioAdmin
  if (level !== 'service') return undefined
  const service = scope.exec(headers.authorization)?.[1]
  return service === 's3' || service === environment.queryApi?.service ? undefined : service
}

/** Nothing of the request is believed, and nothing is done: it needs no valid signature. */
export function refuseForeignService(context: S3RequestContext, service: string): void {
  const { requestId, headers } = context
  const message =
    service === 'iam'
      ? 'This server does not offer the API of IAM. Its users, groups and policies are managed over the Admin API: svcctl admin user --help'
      : `This server offers S3 and STS; it has no service "${service}".`
  context.errorCode = 'NotImplemented'
  if (service === minioAdmin) {
    const Message = 'This server does not offer the Admin API of MinIO. It has one of its own: svcctl admin --help'
    sendDocument(context, 501, [], JSON.stringify({ Code: 'NotImplemented', Message }), 'application/json')
    return
  }
  const isJson = /^application\/x-amz-json/.test(headers['content-type'] ?? '')
  const error = { Error: { Type: 'Sender', Code: 'NotImplemented', Message: message }, RequestId: requestId }
  const document = isJson
    ? JSON.stringify({ __type: 'NotImplemented', message })
    : xmlDeclaration + writeElement('ErrorResponse', error)
  sendDocument(context, 501, [], document, isJson ? 'application/x-amz-json-1.0' : undefined)
}
