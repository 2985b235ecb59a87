/** Headers that allow pages of other origins to read the answer. */
import type { S3RequestContext } from './request.ts'

/** Collects the headers of all contributions to `s3.origin-answer`; every answer has them, including errors. */
export async function addOriginHeaders(context: S3RequestContext, origin: string): Promise<void> {
  const { method, bucket, headers: given, environment } = context
  const askedMethod = given['access-control-request-method']
  const asked = askedMethod ? { method: askedMethod, headers: given['access-control-request-headers'] } : undefined
  const answers = await Promise.all(environment.originAnswers.map(ask => ask({ origin, method, bucket, asked })))
  const headers = answers.flatMap(answer => answer ?? [])
  if (headers.length > 0) context.answerHeaders = headers
}
