/**
 * Requests of clients of other AWS services that were pointed at this endpoint: IAM, SQS, DynamoDB. They get an explanation in the form
 * that their clients read. An error about their signature would make users look for a wrong key.
 */
import { sendDocument } from './answer.ts'
import type { S3RequestContext } from './request.ts'
import { writeElement, xmlDeclaration } from './xml-writer.ts'

const scope = /^AWS4-HMAC-SHA256 +Credential=[^,]{1,200}\/([a-z0-9.-]{1,40})\/aws4_request\b/

/** Clients of MinIO's own Admin API sign for an empty region, which S3 clients never do, so a bucket of that name can still be used. */
const minioScope = /^AWS4-HMAC-SHA256 +Credential=[^,]{1,200}\/\/s3\/aws4_request\b/
const minioAdmin = 'minio-admin'

/** The service that a request is signed for, unless it is S3 or a service that a plugin provides. */
export function foreignServiceOf({ level, bucket, key, headers, environment }: S3RequestContext): string | undefined {
  if (headers.authorization === undefined) return undefined
  if (bucket === 'minio' && key.startsWith('admin/') && minioScope.test(headers.authorization)) return minioAdmin
  if (level !== 'service') return undefined
  const service = scope.exec(headers.authorization)?.[1]
  return service === 's3' || service === environment.queryApi?.service ? undefined : service
}

/** Needs no valid signature, because nothing in the request is trusted and nothing is changed. */
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
