/**
 * Content codings of answers: which one a client prefers, and a body in it. Compression runs in the thread pool of the process, so that the
 * thread that answers requests goes on. Sources: RFC 9110 section 12.5.3, RFC 8878 (zstd), RFC 7932 (br).
 */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'

export type Coding = 'br' | 'gzip' | 'zstd'

/** The best first, of those that a client likes equally. */
const codings: readonly Coding[] = ['br', 'zstd', 'gzip']
const suffixes: Readonly<Record<Coding, string>> = { br: '-br', gzip: '-gz', zstd: '-zst' }

/** What is smaller hardly shrinks. */
export const codedBytesMin = 256
/** What is larger would be held in memory, and would keep the thread pool busy. */
export const codedBytesMax = 8 * 1024 * 1024
/** Bodies that a thread compresses at the same time: files are read by the same thread pool. */
const jobsMax = 2

const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+(?:json|xml)|javascript|json|ld\+json|manifest\+json|wasm|xml|xhtml\+xml|rtf|vnd\.ms-fontobject)(?:;|$)|image\/(?:svg\+xml|bmp|vnd\.microsoft\.icon|x-icon)|font\/(?:otf|ttf|collection))/i

/** By its media type; with parameters, too. */
export const isCompressible = (contentType: string): boolean => compressible.test(contentType)

/** The coding that a client prefers; undefined for none. Header items that are wrong do not count. */
export function chooseCoding(acceptEncoding: string | undefined): Coding | undefined {
  if (acceptEncoding === undefined || acceptEncoding.length > 1024) return undefined
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim())
    const q = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0
    if (name !== '') weights.set(name, weight)
  }
  const weightOf = (name: string) => weights.get(name) ?? (name === 'identity' ? 0 : (weights.get('*') ?? 0))
  const [best] = codings.toSorted((a, b) => weightOf(b) - weightOf(a))
  return weightOf(best!) > 0 && weightOf(best!) >= weightOf('identity') ? best : undefined
}

/** `"abc"` is `"abc-gz"`. Of a strong tag with quotes. */
export const codedEtag = (etag: string, coding: Coding): string => `${etag.slice(0, -1)}${suffixes[coding]}"`

/** Tags of conditions without what `codedEtag` has added: a condition is about all forms of a body. */
export const plainEtags = (header: string): string => header.replaceAll(/-(?:br|gz|zst)"/g, '"')

export interface CompressionJob {
  /** Call it once, or `cancel`. */
  run(bytes: Buffer): Promise<Buffer>
  cancel(): void
}

let jobs = 0

/** Undefined while as many bodies are being compressed as may be: then the plain body is the answer. */
export function startCompression(coding: Coding): CompressionJob | undefined {
  if (jobs >= jobsMax) return undefined
  jobs++
  let isOpen = true
  const end = () => {
    if (isOpen) jobs--
    isOpen = false
  }
  return { run: bytes => compress(coding, bytes).finally(end), cancel: end }
}

const [gzipLater, brotliLater, zstdLater] = [promisify(gzip), promisify(brotliCompress), promisify(zstdCompress)]

/** Levels that cost about as much as they save. */
export function compress(coding: Coding, bytes: Buffer): Promise<Buffer> {
  switch (coding) {
    case 'br':
      return brotliLater(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: 4,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      })
    case 'zstd':
      return zstdLater(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } })
    default:
      return gzipLater(bytes, { level: 6 })
  }
}
