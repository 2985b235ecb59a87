/** Sends one piece of a file, with progress: `fetch` tells nothing of what has been sent. */
import { adoptSessionOf, csrfHeaders, endSessionAfter, isOtherSession } from '../../api/client.ts'
import { problemOf, problemOfNetwork } from '../../api/problem.ts'

export interface Transfer {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly body: Blob
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Aborted: it does not begin any more. What is under way goes on. */
  readonly hold: AbortSignal
  /** It waits no longer for others. */
  onBegin(): void
  onProgress(sentBytes: number): void
}

/** Bytes that have left the page may be on their way for long, in the buffers of the machine or of a proxy: at least so many a second. */
const bytesPerMs = 8
const silenceMs = 300_000
const steppedBytesMin = 64 * 1024

/** A body of that size takes a while: its progress is told, and it leaves connections to the rest of the page, which has six in all. */
const largeBytesMin = 256 * 1024
const largeAtOnce = 4

let largeUnderWay = 0
const largeWaiting: (() => void)[] = []

/** Resolves with the JSON of the answer; throws `Problem`, or an `AbortError`. */
export async function send<T>(transfer: Transfer): Promise<T> {
  if (transfer.body.size < largeBytesMin) return sendNow(transfer)
  if (largeUnderWay < largeAtOnce) largeUnderWay++
  else await new Promise<void>(resolve => largeWaiting.push(resolve))
  try {
    if (transfer.hold.aborted) throw new DOMException('', 'AbortError')
    return await sendNow(transfer)
  } finally {
    const next = largeWaiting.shift()
    if (next === undefined) largeUnderWay--
    else next()
  }
}

function sendNow<T>(transfer: Transfer): Promise<T> {
  transfer.onBegin()
  const { method, url, body, contentType, headers = {}, signal, onProgress } = transfer
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const abort = () => request.abort()
    let isDead = false
    const giveUp = () => {
      isDead = true
      request.abort()
    }
    const patienceMs = silenceMs + body.size / bytesPerMs
    let timer = setTimeout(giveUp, patienceMs)
    const hear = () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, patienceMs)
    }
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    request.open(method, new URL(url, document.baseURI))
    for (const [name, value] of Object.entries({ ...csrfHeaders(), ...headers })) request.setRequestHeader(name, value)
    request.setRequestHeader('content-type', contentType)
    if (body.size >= steppedBytesMin) {
      request.upload.onprogress = ({ loaded }) => {
        hear()
        if (body.size >= largeBytesMin) onProgress(loaded)
      }
    }
    request.onerror = () => {
      end()
      reject(problemOfNetwork())
    }
    request.onabort = () => {
      end()
      reject(isDead ? problemOfNetwork() : new DOMException('', 'AbortError'))
    }
    request.onload = async () => {
      end()
      if (request.status >= 300) {
        const problem = await problemOf(new Response(request.responseText, { status: request.status }))
        endSessionAfter(problem)
        // The next attempt has the token of the session that the page has then.
        if (isOtherSession(request.getResponseHeader('x-session-id'))) {
          const isOwn = await adoptSessionOf(request.getResponseHeader('x-session-id')).catch(() => false)
          if (isOwn && problem.status === 403) return resolve(sendNow(transfer))
        }
        return reject(problem)
      }
      try {
        resolve(JSON.parse(request.responseText) as T)
      } catch {
        // A proxy has answered.
        reject(problemOfNetwork())
      }
    }
    if (signal.aborted) {
      end()
      return reject(new DOMException('', 'AbortError'))
    }
    signal.addEventListener('abort', abort)
    request.send(body)
  })
}
