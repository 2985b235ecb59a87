/** The chain of providers, as the plugin creates it. */
import { CatalogError, definePlugin } from 'svc/kernel'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { AuthAnswer, AuthProvider, Identity, SignatureThrottle, SignedDocument, SignedRequest } from '../api.ts'
import plugin from '../index.ts'

const identity = (accessKey: string): Identity => ({
  accessKey,
  isRoot: false,
  ownerId: 'a'.repeat(64),
  displayName: accessKey,
})
const principal = (accessKey: string): AuthAnswer => ({ identity: identity(accessKey), method: 'header' })

const request = (headers: SignedRequest['headers'] = {}, rawQuery = ''): SignedRequest => ({
  api: 's3',
  method: 'GET',
  rawPath: '/',
  rawQuery,
  headers,
  host: 'h',
  secure: true,
})

async function start(providers: Readonly<Record<string, AuthProvider>>, throttle?: SignatureThrottle) {
  const contributor = definePlugin({
    name: 'test-providers',
    setup({ contribute }) {
      for (const [id, provider] of Object.entries(providers)) contribute('auth.provider', id, provider)
      if (throttle !== undefined) contribute('auth.throttle', 'test', throttle)
      contribute('auth.anonymous', 'test', headers => ({
        identity: undefined,
        method: 'anonymous',
        payload: headers['x-amz-content-sha256'] === undefined ? { kind: 'unsigned' } : { kind: 'sha256', hex: 'ff' },
        createDecoder: () => undefined,
      }))
      return {}
    },
  })
  const { services } = await startKernel({
    plugins: [contributor, plugin],
    config: { iam: { rootUser: 'root-user', rootPassword: 'root-password' } },
  })
  const { iam } = services
  const client = '192.0.2.1'
  return {
    ...iam,
    authenticate: (request: SignedRequest) => iam.authenticate(request, client),
    authenticateForm: (fields: ReadonlyMap<string, string>) => iam.authenticateForm(fields, client),
    authenticateDocument: (request: SignedRequest, signed: SignedDocument) =>
      iam.authenticateDocument(request, signed, client),
  }
}

/** A provider that recognizes one word in the Authorization header. */
const scheme = (
  word: string,
  answer: () => ReturnType<AuthProvider['authenticate']>,
  before?: string[],
): AuthProvider => ({
  ...(before && { before }),
  authenticate: ({ headers }) => (headers.authorization === word ? answer() : undefined),
})

const codeOf = async (run: () => unknown): Promise<string> => {
  try {
    await run()
    return 'served'
  } catch (error) {
    return error instanceof CatalogError ? `${error.code} ${error.status}` : String(error)
  }
}

t.test('the first provider that recognizes the credentials decides, and no other is asked', async t => {
  const asked: string[] = []
  const note = (id: string, answers: boolean): AuthProvider => ({
    authenticate() {
      asked.push(id)
      return answers ? principal(id) : undefined
    },
  })
  const iam = await start({ a: note('a', false), b: note('b', true), c: note('c', true) })
  const answer = iam.authenticate(request())
  t.notOk(answer instanceof Promise, 'nothing has to be waited for')
  t.equal((await answer).identity?.accessKey, 'b')
  t.same(asked, ['a', 'b'])
})

t.test('a provider is asked before those that it names, for any order of plugins', async t => {
  const answers = (id: string, before?: string[]): AuthProvider => ({
    ...(before && { before }),
    authenticate: () => principal(id),
  })
  const first = async (providers: Readonly<Record<string, AuthProvider>>) =>
    (await (await start(providers)).authenticate(request())).identity?.accessKey
  t.equal(await first({ a: answers('a'), b: answers('b') }), 'a')
  t.equal(await first({ a: answers('a'), b: answers('b', ['a']) }), 'b')
  t.equal(await first({ a: answers('a'), b: answers('b', ['a']), c: answers('c', ['b', 'absent']) }), 'c')
  await t.rejects(first({ a: answers('a', ['b']), b: answers('b', ['a']) }), {
    message: /these contributions to "auth\.provider" must each be asked before the other: a, b/,
  })
})

t.test('a failure refuses the request, and no later provider can allow it', async t => {
  const refusal = () => {
    throw new CatalogError('AccessDenied', 403, 'no')
  }
  const defect = () => {
    throw new TypeError('a defect')
  }
  const others: AuthProvider = { authenticate: () => principal('eve') }
  for (const [name, fail, expected] of [
    ['an error that is thrown', refusal, 'AccessDenied 403'],
    ['a rejection', async () => refusal(), 'AccessDenied 403'],
    ['a defect', defect, 'TypeError: a defect'],
    ['a defect later', async () => defect(), 'TypeError: a defect'],
    ['nobody, at once', () => ({ method: 'header' }) as never, 'AccessDenied 403'],
    ['nobody, later', async () => undefined as never, 'AccessDenied 403'],
  ] as const) {
    const iam = await start({
      failing: { authenticate: fail, authenticateForm: fail, authenticateDocument: fail },
      others,
    })
    const document = { service: 'sts', document: Buffer.alloc(0) }
    t.equal(await codeOf(() => iam.authenticate(request())), expected, name)
    t.equal(await codeOf(() => iam.authenticateForm(new Map())), expected, `${name}, form`)
    t.equal(await codeOf(() => iam.authenticateDocument(request(), document)), expected, `${name}, document`)
  }
})

t.test(
  'credentials that no provider recognizes are refused, and a request without credentials is anonymous',
  async t => {
    const iam = await start({ word: scheme('Word', () => principal('ada')) })
    const of = (headers: SignedRequest['headers'], query?: string) =>
      codeOf(() => iam.authenticate(request(headers, query)))
    t.equal(await of({ authorization: 'Word' }), 'served')
    t.equal(await of({ authorization: 'Bearer s3cret' }), 'InvalidArgument 400')
    t.equal(await of({ authorization: 'AWS a:b' }), 'InvalidRequest 400')
    t.equal(await of({}, 'AWSAccessKeyId=a&Expires=1&Signature=b'), 'InvalidRequest 400')
    t.equal(await codeOf(() => iam.authenticateForm(new Map([['awsaccesskeyid', 'a']]))), 'InvalidRequest 400')
    t.equal(await codeOf(() => iam.authenticateForm(new Map([['signature', 'a']]))), 'InvalidRequest 400')
    for (const answer of [
      await iam.authenticate(request()),
      await iam.authenticate(request({ authorization: '' }, 'prefix=AWSAccessKeyId')),
      await iam.authenticateForm(new Map([['key', 'a']])),
      await iam.authenticateDocument(request(), { service: 'sts', document: Buffer.alloc(0) }),
    ]) {
      t.match(answer, { identity: undefined, method: 'anonymous', payload: { kind: 'unsigned' } })
    }
  },
)

t.test('two mechanisms at once are refused before any provider is asked', async t => {
  const iam = await start({ word: scheme('Word', () => t.fail('was asked') as never) })
  for (const name of ['X-Amz-Signature', 'X-Amz-Algorithm', 'X-Amz-Credential']) {
    for (const query of [`${name}=a`, `a=b&${name}`, `${name}&a=b`]) {
      t.equal(await codeOf(() => iam.authenticate(request({ authorization: 'Word' }, query))), 'InvalidArgument 400')
    }
  }
  const other = await start({ word: scheme('Word', () => principal('ada')) })
  for (const query of ['prefix=X-Amz-Signature', 'X-Amz-Signatures=a', 'xX-Amz-Signature=a']) {
    t.equal(await codeOf(() => other.authenticate(request({ authorization: 'Word' }, query))), 'served', query)
  }
})

t.test('if credentials do not describe the body, its header does', async t => {
  const iam = await start({ word: scheme('Word', async () => principal('ada')) })
  const answer = await iam.authenticate(request({ authorization: 'Word', 'x-amz-content-sha256': 'ff' }))
  t.match(answer, { identity: { accessKey: 'ada' }, method: 'header', payload: { kind: 'sha256', hex: 'ff' } })
  t.equal(answer.createDecoder(), undefined)
})

t.test('only what may be a guess is counted, and the guard comes to the provider', async t => {
  const counted: (readonly [string, string | undefined])[] = []
  const guarded: string[] = []
  const throttle: SignatureThrottle = {
    guard: client => key => {
      guarded.push(`${client} ${key}`)
    },
    failed: (client, key) => counted.push([client, key]),
  }
  const errors = {
    wrong: () => new CatalogError('SignatureDoesNotMatch', 403, 'wrong', { extra: { AWSAccessKeyId: 'ada' } }),
    unknown: () => new CatalogError('InvalidAccessKeyId', 403, 'unknown', { extra: { AWSAccessKeyId: 'nobody' } }),
    expired: () => new CatalogError('RequestTimeTooSkewed', 403, 'late', { extra: { AWSAccessKeyId: 'ada' } }),
    denied: () => new CatalogError('AccessDenied', 403, 'no'),
    defect: () => new Error('a defect'),
  }
  for (const [word, make] of Object.entries(errors)) {
    for (const isAtOnce of [true, false]) {
      const refuse = (guard: ((key: string) => void) | undefined) => {
        guard?.(word)
        if (isAtOnce) throw make()
        return Promise.reject(make())
      }
      const iam = await start(
        {
          one: {
            authenticate: (_request, guard) => refuse(guard),
            authenticateForm: (_fields, guard) => refuse(guard),
            authenticateDocument: (_request, _signed, guard) => refuse(guard),
          },
        },
        throttle,
      )
      const document = { service: 'sts', document: Buffer.alloc(0) }
      for (const run of [
        () => iam.authenticate(request()),
        () => iam.authenticateForm(new Map()),
        () => iam.authenticateDocument(request(), document),
      ]) {
        counted.length = 0
        guarded.length = 0
        t.not(await codeOf(run), 'served')
        const client = '192.0.2.1'
        const expected = word === 'wrong' ? [[client, 'ada']] : word === 'unknown' ? [[client, undefined]] : []
        t.same(counted, expected, word)
        t.same(guarded, [`${client} ${word}`])
      }
    }
  }
})
