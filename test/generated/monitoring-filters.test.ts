/**
 * Every parameter of the live trace and of the search of audit records leaves out what it says, of the same traffic. A parameter that an
 * operation declares and this table does not have fails the test.
 */
import { get } from 'node:http'
import { hostname } from 'node:os'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { rootPassword, rootUser, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'

interface Line {
  readonly requestId: string
  readonly type: string
  readonly status: number
  readonly operation?: string
  readonly api?: string
  readonly bucket?: string
  readonly path: string
  readonly method?: string
  readonly user?: string
  readonly identity?: { readonly user: string }
}

/** `some` is a part of the lines, neither all nor none; `all` and `none` are what they say. */
type Row = readonly [query: string, keeps: 'some' | 'all' | 'none', predicate?: (line: Line) => boolean]

const isNotFound = ({ status }: Line) => status === 404
const ofTrace: Readonly<Record<string, readonly Row[]>> = {
  type: [['type=s3', 'some', ({ type }) => type === 's3']],
  status: [
    ['status=404', 'some', isNotFound],
    ['status=5xx,401', 'some', ({ status }) => status === 401],
  ],
  api: [
    ['api=getBucket', 'some', ({ operation }) => operation === 'getBucket'],
    ['api=Get*', 'some', ({ operation }) => operation === 'GetObject'],
  ],
  bucket: [['bucket=missing', 'some', ({ path }) => path.endsWith('/missing')]],
  node: [[`node=${hostname()}`, 'all']],
  errors: [['errors=true', 'some', ({ status }) => status >= 400]],
  minDurationMs: [
    ['minDurationMs=0', 'all'],
    ['minDurationMs=60000', 'none'],
  ],
}
const ofAudit: Readonly<Record<string, readonly Row[]>> = {
  user: [['user=admin', 'some', ({ identity }) => identity!.user === rootUser]],
  action: [['action=getBucket', 'some', ({ api }) => api === 'getBucket']],
  bucket: [['bucket=missing', 'some', ({ bucket }) => bucket === 'missing']],
  since: [
    ['since=1h', 'all'],
    ['since=2999-01-01', 'none'],
  ],
  until: [
    ['until=2999-01-01', 'all'],
    ['until=1h', 'none'],
  ],
  errors: [['errors=true', 'some', ({ status }) => status >= 400]],
  changes: [
    [
      'changes=true',
      'some',
      ({ status, method }) => status === 401 || status === 403 || !['GET', 'HEAD', 'OPTIONS'].includes(method!),
    ],
  ],
  status: [['status=4xx', 'some', ({ status }) => status >= 400 && status < 500]],
  requestId: [],
  node: [
    [`node=${hostname()}`, 'all'],
    ['node=elsewhere', 'none'],
  ],
  // Pages: plugins/audit/test/search.test.ts.
  limit: [],
  cursor: [],
}

const server = await startAdmin()
t.teardown(() => server.stop())
const parametersOf = (id: string) => {
  const { query } = server.operations.find(operation => operation.id === id)! as unknown as {
    query: { properties: object }
  }
  return Object.keys(query.properties).sort()
}

async function traffic({ signed, anonymous, s3 }: TestAdmin, bucket: string) {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: bucket } })
  await signed({ path: `/api/v1/buckets/${bucket}` })
  await signed({ path: '/api/v1/buckets/missing' })
  await anonymous({ path: '/api/v1/info' })
  await s3.send(new GetObjectCommand({ Bucket: bucket, Key: 'none' })).catch(() => undefined)
}

/** Lines of the live trace, as they come. */
function watch(query: string): Promise<{ readonly lines: () => Line[]; close(): void }> {
  const { port } = server
  const path = '/api/v1/trace'
  const { headers } = signRequest(
    { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' },
    { method: 'GET', host: `127.0.0.1:${port}`, path, query, headers: {}, nowMs: Date.now() },
  )
  return new Promise((done, fail) => {
    let text = ''
    const sent = get({ host: '127.0.0.1', port, path: `${path}?${query}`, headers, agent: false }, answer => {
      if (answer.statusCode !== 200) return fail(new Error(`${query}: ${answer.statusCode}`))
      answer.on('data', bytes => {
        text += bytes
      })
      answer.on('error', () => {})
      const lines = () =>
        text
          .split('\n')
          .filter(line => line.startsWith('data: {'))
          .map(line => JSON.parse(line.slice('data: '.length)) as Line)
          .filter(({ operation }) => operation !== undefined && operation !== 'streamTrace')
      done({ lines, close: () => sent.destroy() })
    })
    sent.on('error', fail)
  })
}

function expected(all: readonly Line[], [query, keeps, predicate = () => keeps === 'all']: Row): readonly Line[] {
  const kept = all.filter(predicate)
  if (keeps === 'some' && (kept.length === 0 || kept.length === all.length)) throw new Error(`${query} shows nothing`)
  return kept
}

const ids = (lines: readonly Line[]) => lines.map(({ requestId }) => requestId).sort()

t.test('the live trace', async t => {
  t.same(Object.keys(ofTrace).sort(), parametersOf('streamTrace'), 'each parameter has a row')
  const rows = Object.values(ofTrace).flat()
  const whole = await watch('')
  const streams = await Promise.all(rows.map(([query]) => watch(query)))
  await traffic(server, 'photos')
  const until = async (isSo: () => boolean) => {
    for (let tries = 0; tries < 400 && !isSo(); tries++) await new Promise(done => setTimeout(done, 25))
  }
  await until(() => whole.lines().length >= 5)
  const all = whole.lines()
  t.equal(all.length, 5)
  for (const [index, row] of rows.entries()) {
    const wanted = ids(expected(all, row))
    await until(() => streams[index]!.lines().length >= wanted.length)
    t.same(ids(streams[index]!.lines()), wanted, row[0])
  }
  for (const { close } of [whole, ...streams]) close()
  await t.rejects(watch('node=elsewhere'), { message: 'node=elsewhere: 400' })
})

t.test('the search of audit records', async t => {
  t.same(Object.keys(ofAudit).sort(), parametersOf('searchAudit'), 'each parameter has a row')
  await traffic(server, 'films')
  const search = async (query: string): Promise<Line[]> => {
    const { json } = await server.signed({ path: `/api/v1/audit?limit=1000&${query}` })
    return json.items.filter(({ api }: Line) => !['searchAudit', 'streamTrace'].includes(api!))
  }
  const all = await search('')
  t.ok(all.length >= 5)
  for (const row of Object.values(ofAudit).flat()) {
    t.same(ids(await search(row[0])), ids(expected(all, row)), row[0])
  }
  const [one] = all
  t.same(ids(await search(`requestId=${one!.requestId}`)), [one!.requestId])
})
