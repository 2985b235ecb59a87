/**
 * What a cached answer costs beside its body: `node --expose-gc --conditions=svc-src test/perf/cache-memory.ts [entries] [bytes of a body]`.
 * The answers are those of a website: a key, a few fields, one tag.
 */
import { CacheEngine } from '../../plugins/cache/engine/engine.ts'
import { resolvePolicy } from '../../plugins/cache/policy/policy.ts'
import { placed } from '../../plugins/cache/settings/configuration.ts'

const [count = 100_000, bodyBytes = 1024] = process.argv.slice(2).map(Number)
const collect = (globalThis as { gc?: () => void }).gc as () => void
const clock = { now: () => Date.now(), after: () => () => undefined } as never
const engine = new CacheEngine({ clock, log: { debug() {} } as never, budgetBytes: 8 * 1024 ** 3 })
const policy = placed(resolvePolicy({}))
const body = Buffer.alloc(bodyBytes, 'x')

const scratch = Buffer.allocUnsafeSlow(1024)
const inOnePiece = (text: string) => scratch.toString('utf8', 0, scratch.write(text))

async function fill(index: number): Promise<void> {
  // In one piece, as it is read from a socket.
  const path = inOnePiece(`/articles/2026/11/${index}/index.html`)
  const key = { space: 'site', shape: 'shape', host: 'www.example.test', path, query: '' }
  const name = path.slice(1)
  const object = {
    key: name,
    versionId: 'null',
    etag: inOnePiece(index.toString(16).padStart(32, '0')),
    modifiedMs: 1_790_000_000_000 + index,
    sizeBytes: bodyBytes,
    sequence: 3_600_000_000_000_000 + index,
    system: { contentType: `text/html; charset=utf-8` },
    isSealed: false,
  }
  const record = {
    identity: `pages/${path} null ${object.sequence}`,
    value: { kind: 'object', keys: [name], object },
    fences: [{ slot: index & 65_535, generation: 0, isSettled: true }],
    tags: [],
  }
  const fetch = async () => ({
    status: 200,
    headers: [['ETag', `"${object.etag}"`] as const, ['Content-Type', 'text/html'] as const],
    body: { sizeBytes: bodyBytes, read: () => ({ kind: 'whole', bytes: body }) as const },
    record,
  })
  await engine.lookup({ method: 'GET', headers: {}, key, policy, honorsDirectives: false }, { hasObjects: true, fetch })
}

const used = () => {
  collect()
  collect()
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage()
  return { heapUsed, arrayBuffers, rss }
}
// What the process itself takes for such work is taken before: code, and room for garbage.
for (let index = 0; index < 50_000; index++) await fill(-index)
const before = used()
for (let index = 1; index <= count; index++) await fill(index)
const after = used()
const each = (name: keyof typeof before) => Math.round((after[name] - before[name]) / count)
const { entries, bytes: accounted } = engine.memory.usage
console.log(
  JSON.stringify({
    entries,
    heap: each('heapUsed'),
    buffersBesideTheBody: each('arrayBuffers') - bodyBytes,
    besideTheBody: each('heapUsed') + each('arrayBuffers') - bodyBytes,
    accountedBesideTheBody: Math.round(accounted / entries - bodyBytes),
    residentBesideTheBody: each('rss') - bodyBytes,
  }),
)
