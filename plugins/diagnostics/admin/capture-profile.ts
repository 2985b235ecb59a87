import { hostname } from 'node:os'
import { getHeapSnapshot } from 'node:v8'
import { adminErrors, defineAdminOperation, replyWithBytes } from 'svc/plugins/admin/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { profileFormats, profileTypes } from '../api.ts'

export default defineAdminOperation({
  id: 'captureProfile',
  method: 'GET',
  path: '/profile',
  tag: 'diagnostics',
  summary:
    'Returns profiles of the time and memory use of all threads of the answering node: `cpu` and `heap` as pprof, `goroutine`, `mutex` and `block` as JSON.',
  authorize: ['admin:Profiling'],
  query: Type.Object({
    type: Type.Enum([...profileTypes]),
    seconds: Type.Integer({ minimum: 1, maximum: 60, default: 10, description: 'How long it looks.' }),
    snapshot: Type.Boolean({
      default: false,
      description: 'Of `heap`: every object of the answering thread, which stands still meanwhile. Secrets are in it.',
    }),
    format: Type.Enum([...profileFormats], {
      default: 'pprof',
      description: 'For `cpu` and `heap`; `v8`: of one thread, in the format of V8.',
    }),
    thread: Type.Integer({
      minimum: 0,
      maximum: 1024,
      default: 0,
      description: 'Of the format `v8`; 0 is the main thread.',
    }),
  }),
  bytes: 'application/octet-stream',
  crossSite: 'origin',
  errors: ['conflict'],
  uses: ['captures', 'ports'],
  async handle({ query: { snapshot, ...wanted } }, { captures, ports: { clock } }) {
    const { type } = wanted
    if (snapshot) {
      if (type !== 'heap') throw adminErrors.invalid_argument('query/snapshot: is only allowed with the type heap.')
      return replyWithBytes({
        headers: fileHeaders(clock.now(), 'heap.heapsnapshot', 'application/json'),
        data: snapshotData(),
      })
    }
    const { bytes, suffix, mediaType } = await captures.capture(wanted)
    const data: ObjectData = { kind: 'whole', bytes: Buffer.from(bytes) }
    return replyWithBytes({ headers: fileHeaders(clock.now(), suffix, mediaType), data, sizeBytes: bytes.length })
  },
})

function fileHeaders(nowMs: number, suffix: string, mediaType: string) {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  return {
    'content-type': mediaType,
    'content-disposition': `attachment; filename="${hostname()}-${time}-${suffix}"`,
    'cache-control': 'no-store',
  }
}

function snapshotData(): ObjectData {
  const stream = getHeapSnapshot()
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  return {
    kind: 'stream',
    async next() {
      const { done, value } = await chunks.next()
      return done === true ? undefined : { bytes: Buffer.from(value), release() {} }
    },
    close() {
      stream.destroy()
    },
  }
}
