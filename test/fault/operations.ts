/** The S3 operations that the fault tests need, over a bare client. An answer that is an error is thrown as AnswerError. */
import type { Answer, Attempt, SignedClient } from '../wire/signed-client.ts'

/** The server answered, and the answer is an error. */
export class AnswerError extends Error {
  readonly status: number
  readonly code: string | undefined

  constructor(attempt: Attempt, { status, code, body }: Answer) {
    super(
      `${attempt.method} ${attempt.path}?${attempt.query ?? ''}: ${status} ${code} ${body.toString().slice(0, 500)}`,
    )
    this.status = status
    this.code = code
  }
}

export interface Operations {
  createBucket(): Promise<void>
  deleteBucket(): Promise<void>
  /** Undefined where there is no object. */
  get(key: string): Promise<Buffer | undefined>
  put(key: string, body: Buffer): Promise<void>
  remove(key: string): Promise<void>
  copy(key: string, source: string): Promise<void>
  createUpload(key: string): Promise<string>
  /** Returns the ETag. */
  putPart(key: string, uploadId: string, partNumber: number, body: Buffer): Promise<string>
  complete(key: string, uploadId: string, etags: ReadonlyMap<number, string>): Promise<void>
  abort(key: string, uploadId: string): Promise<void>
  /** Sizes by key. */
  list(): Promise<Map<string, number>>
  listUploads(): Promise<readonly { readonly key: string; readonly uploadId: string }[]>
  /** ETags by number. */
  listParts(key: string, uploadId: string): Promise<Map<number, string>>
}

const pagesMax = 1000

function element(name: string, xml: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  if (text === undefined) throw new Error(`No ${name} in ${xml.slice(0, 500)}`)
  return text.replaceAll('&quot;', '"').replaceAll('&#34;', '"')
}

function elements(name: string, xml: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(match => match[1]!)
}

/** Keys must be of characters that need no encoding. */
export function createOperations(client: SignedClient, bucket: string): Operations {
  async function send(attempt: Attempt): Promise<Answer> {
    const answer = await client.send(attempt)
    // Long operations answer 200 first and put an error into the body.
    if (answer.status >= 300 || answer.code !== undefined) throw new AnswerError(attempt, answer)
    return answer
  }
  const path = (key: string) => `/${bucket}/${key}`
  const at = (method: string, key: string, query?: string, body?: Buffer | string, headers?: Record<string, string>) =>
    send({ method, path: path(key), query, body, headers })

  return {
    createBucket: async () => void (await send({ method: 'PUT', path: `/${bucket}` })),
    deleteBucket: async () => void (await send({ method: 'DELETE', path: `/${bucket}` })),
    async get(key) {
      const attempt = { method: 'GET', path: path(key) }
      const answer = await client.send(attempt)
      if (answer.code === 'NoSuchKey') return undefined
      if (answer.status !== 200) throw new AnswerError(attempt, answer)
      return answer.body
    },
    put: async (key, body) => void (await at('PUT', key, undefined, body)),
    remove: async key => void (await at('DELETE', key)),
    copy: async (key, source) =>
      void (await at('PUT', key, undefined, undefined, { 'x-amz-copy-source': path(source) })),
    createUpload: async key => element('UploadId', (await at('POST', key, 'uploads=')).body.toString()),
    async putPart(key, uploadId, partNumber, body) {
      return (await at('PUT', key, `partNumber=${partNumber}&uploadId=${uploadId}`, body)).headers.etag!
    },
    async complete(key, uploadId, etags) {
      const parts = [...etags].map(
        ([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`,
      )
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
      await at('POST', key, `uploadId=${uploadId}`, body)
    },
    abort: async (key, uploadId) => void (await at('DELETE', key, `uploadId=${uploadId}`)),
    async list() {
      const sizes = new Map<string, number>()
      let token = ''
      for (let page = 0; page < pagesMax; page++) {
        const query = `${token === '' ? '' : `continuation-token=${encodeURIComponent(token)}&`}list-type=2&max-keys=17`
        const xml = (await send({ method: 'GET', path: `/${bucket}`, query })).body.toString()
        for (const item of elements('Contents', xml)) sizes.set(element('Key', item), Number(element('Size', item)))
        if (element('IsTruncated', xml) === 'false') return sizes
        token = element('NextContinuationToken', xml)
      }
      throw new Error('The listing does not end')
    },
    async listUploads() {
      const xml = (await send({ method: 'GET', path: `/${bucket}`, query: 'uploads=' })).body.toString()
      return elements('Upload', xml).map(item => ({ key: element('Key', item), uploadId: element('UploadId', item) }))
    },
    async listParts(key, uploadId) {
      const xml = (await at('GET', key, `uploadId=${uploadId}`)).body.toString()
      return new Map(elements('Part', xml).map(item => [Number(element('PartNumber', item)), element('ETag', item)]))
    },
  }
}
