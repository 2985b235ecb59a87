/**
 * Operations that may take minutes: the server sends 200 early and then white space, so that proxies and clients do not give up on a silent
 * connection. The document, or an error document, follows; S3 clients check the body for errors. Source: AWS S3 API reference,
 * CompleteMultipartUpload and CopyObject.
 */
import type { MaybePromise } from 'svc/kernel'
import { answer } from './answer.ts'
import type { S3Operation, S3Result } from './api.ts'
import { errorDocument, toS3Error } from './failure.ts'
import type { S3RequestContext } from './request.ts'
import { writeXmlRoot, xmlDeclaration } from './xml-writer.ts'

/** Time without an answer before the white space begins, and between two pieces of it. */
export const patienceMs = 5000

/** Rejects if nothing of the answer was sent: then the error can still be the answer. */
export async function answerSlowly(
  context: S3RequestContext,
  operation: S3Operation,
  result: MaybePromise<S3Result>,
): Promise<void> {
  const { response } = context.exchange
  const { clock, hostId } = context.environment
  let cancel = clock.after(patienceMs, keepAlive)
  let isBegun = false

  function keepAlive(): void {
    if (context.isClosed) return
    if (!isBegun) {
      isBegun = true
      // The length is unknown: chunked. The declaration must be the first thing in a document.
      const head = ['x-amz-id-2', hostId, 'Content-Type', 'application/xml', ...(context.answerHeaders ?? [])]
      response.writeHead(200, head)
      response.write(xmlDeclaration)
    } else response.write(' ')
    cancel = clock.after(patienceMs, keepAlive)
  }

  const end = (document: string) => {
    const rest = document.slice(xmlDeclaration.length)
    context.sentBytes += rest.length
    response.end(rest)
  }
  try {
    const value = await result
    cancel()
    if (!isBegun) await answer(context, operation, value)
    else if (operation.reply.kind === 'xml') end(xmlDeclaration + writeXmlRoot(operation.reply.root, value.xml))
    else response.end()
  } catch (error) {
    cancel()
    if (!isBegun) throw error
    const known = toS3Error(context, error)
    context.errorCode = known.code
    end(errorDocument(context, known))
  }
}
