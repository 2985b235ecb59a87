/** What a hostile body makes the server do: sizes first, and no more than the first problems. */
import t from 'tap'
import { Type } from 'typebox'
import { createValidation, problemsOf } from '../api.ts'
import { parseJson } from '../body.ts'
import { startAdmin } from '../testing.ts'

interface Problem {
  readonly element: string
  readonly message: string
}

const problemsIn = (result: object): readonly Problem[] =>
  'error' in result ? (problemsOf(result.error as Error) as readonly Problem[]) : []

/** An object of which each look at a field is counted. */
function watched(fields: object): { readonly value: object; readonly looks: () => number } {
  let looks = 0
  const value = new Proxy(fields, {
    get(target, name) {
      looks++
      return Reflect.get(target, name)
    },
    ownKeys(target) {
      looks++
      return Reflect.ownKeys(target)
    },
  })
  return { value, looks: () => looks }
}

t.test('the elements of an array that is too long are not looked at', async t => {
  const Item = Type.Object({ key: Type.String() })
  const validation = createValidation({ body: Type.Object({ objects: Type.Array(Item, { maxItems: 1000 }) }) })
  const { value, looks } = watched({})
  const result = validation.body({ objects: Array.from({ length: 1001 }, () => value) })
  t.same(problemsIn(result), [{ element: '/objects', message: 'must have at most 1000 entries' }])
  t.equal(looks(), 0)
})

t.test('nor are the values of a map, of an alternative, or inside of other arrays and maps', async t => {
  const Leaves = Type.Array(Type.Object({ key: Type.String() }), { maxItems: 2 })
  const Tree = Type.Object({
    lists: Type.Optional(Type.Array(Leaves, { maxItems: 3 })),
    maps: Type.Optional(Type.Record(Type.String(), Leaves, { maxProperties: 2 })),
    either: Type.Optional(Type.Union([Type.String(), Leaves, Type.Array(Type.Integer(), { maxItems: 4 })])),
    open: Type.Optional(Type.Object({}, { maxProperties: 2, additionalProperties: Leaves })),
  })
  const validation = createValidation({ body: Tree })
  const { value, looks } = watched({})
  const leaves = (count: number) => Array.from({ length: count }, () => value)
  const cases: readonly [body: object, element: string, message: string][] = [
    [{ lists: [[], leaves(3)] }, '/lists/1', 'must have at most 2 entries'],
    [{ maps: { a: leaves(3) } }, '/maps/a', 'must have at most 2 entries'],
    [{ maps: { a: leaves(1), b: leaves(1), c: leaves(1) } }, '/maps', 'must have at most 2 fields'],
    [{ either: leaves(5) }, '/either', 'must have at most 4 entries'],
    [{ open: { a: leaves(3) } }, '/open/a', 'must have at most 2 entries'],
    [{ open: { a: [], b: [], c: leaves(1) } }, '/open', 'must have at most 2 fields'],
  ]
  for (const [body, element, message] of cases) {
    t.same(problemsIn(validation.body(body)), [{ element, message }])
  }
  t.equal(looks(), 0)
  t.same(problemsIn(validation.body({ lists: [[{ key: 'a' }]], maps: { a: [] }, either: [1, 2, 3, 4] })), [])
})

t.test('of a large value within its bounds the first problems are found, and nothing behind them is read', async t => {
  const Part = Type.Object({ number: Type.Integer({ minimum: 1 }), name: Type.String() })
  const Parts = Type.Array(Type.Union([Part, Type.Null()]), { maxItems: 10_000 })
  const validation = createValidation({ body: Type.Object({ parts: Parts }) })
  const last = watched({ number: 0, name: 'z' })
  const parts = Array.from({ length: 9000 }, (_, index): object => ({
    number: index < 5000 ? 1 : 0,
    name: 'a',
  }))
  const found = problemsIn(validation.body({ parts: [...parts, last.value] }))
  t.same(
    found.slice(0, 3).map(({ element }) => element),
    ['/parts/5000/number', '/parts/5000', '/parts/5001/number'],
  )
  t.equal(last.looks(), 1, 'the size of it, and nothing else')
})

t.test('20 unknown fields end the walk', async t => {
  const Part = Type.Object({ name: Type.Optional(Type.String()) })
  const validation = createValidation({
    body: Type.Object({ parts: Type.Optional(Type.Array(Part, { maxItems: 1000 })) }),
  })
  const behind = watched({})
  const body = { ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1])), parts: [] }
  t.equal(problemsIn(validation.body(body)).length, 20)
  const parts = [...Array.from({ length: 30 }, () => ({ other: 1 })), behind.value]
  const found = problemsIn(validation.body({ parts }))
  t.equal(found.length, 20)
  t.equal(found[19].element, '/parts/19/other')
  t.equal(behind.looks(), 1, 'the size of it, and nothing else')
})

t.test('a long name is cut where problems repeat it', async t => {
  const validation = createValidation({
    body: Type.Record(Type.String(), Type.Array(Type.Integer(), { maxItems: 100 }), { maxProperties: 5 }),
  })
  const found = problemsIn(validation.body({ ['x'.repeat(100_000)]: Array.from({ length: 50 }, () => 'y') }))
  t.ok(found.length > 1)
  for (const { element } of found) t.ok(element.length < 400)
})

t.test('messages of small values are those of the schema, with alternatives', async t => {
  const Either = Type.Union([Type.Integer(), Type.Object({ a: Type.String() })])
  const validation = createValidation({
    body: Type.Object({ one: Either, many: Type.Array(Either, { maxItems: 3000 }) }),
  })
  t.match(problemsIn(validation.body({ one: {}, many: [] })), [{ element: '/one', message: 'must be integer' }])
  const many = Array.from({ length: 2500 }, () => ({ a: 'b' }) as object)
  many[2000] = {}
  const found = problemsIn(validation.body({ one: 1, many }))
  t.match(found, [{ element: '/many/2000', message: 'must be integer' }, { element: '/many/2000/a' }])
})

t.test('text with too many values or levels is refused before it is parsed', async t => {
  const refusal = (text: string) => {
    try {
      parseJson(Buffer.from(text))
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  const many = 'The body has more than 50000 values.'
  t.equal(refusal(`[${'1,'.repeat(50_000)}1]`), many)
  // Not even JSON: nothing was parsed.
  t.equal(refusal(`[${'{},'.repeat(50_000)}`), many)
  t.equal(refusal(`[${'"a\\"",'.repeat(50_000)}0]`), many)
  t.equal(refusal(`${'['.repeat(65)}`), 'The body is nested deeper than 64 levels.')
  t.equal(refusal(`${'['.repeat(64)}1${']'.repeat(64)}`), undefined)
  t.equal(refusal(JSON.stringify({ text: '[,{'.repeat(100_000), other: '\\"' })), undefined)
  t.equal(refusal(`[${'1,'.repeat(49_000)}1]`), undefined)
})

/** Values without a bound of their own: why the size of the whole body is enough. */
const reasons: Readonly<Record<string, string>> = {
  'createAccessKey body/policy': 'a policy, which the engine of policies bounds to 20 KiB before it reads it',
  'updateAccessKey body/policy': 'as above',
  'putPolicy body/document': 'as above',
  'validatePolicy body/document': 'as above; the body has at most 128 KiB',
  'putBucketPolicy body': 'as above; the body has at most 20 KiB',
  'putAccessRules body/rules[]': 'fields of a rule, each of which has a rule of its own',
  'testAccessRules body/rules[]': 'as above',
  'importDistributions body': 'bounded before it is composed: values, levels, lines, documents',
  'importConfig body': 'one text, which is read line by line; a value of a setting has a bound of its own',
  'replaceConfig body': 'a value of a setting has a bound of its own',
  'updateConfigSubsystem body/settings': 'as above',
}

t.test('every array, map and text of a request has a bound', async t => {
  const { operations, stop } = await startAdmin()
  t.teardown(stop)
  const used = new Set<string>()
  let count = 0
  // biome-ignore lint/suspicious/noExplicitAny: any schema
  const walk = (node: any, place: string): void => {
    if (typeof node !== 'object' || node === null || node.readOnly === true) return
    count++
    const excuse = Object.keys(reasons).find(
      known => place === known || (/^[/|{[]/.test(place.slice(known.length)) && place.startsWith(known)),
    )
    const require = (isBound: boolean, what: string) => {
      if (isBound) return
      if (excuse === undefined) t.fail(`${place}: ${what}`)
      else used.add(excuse)
    }
    const { type, properties = {}, patternProperties = {}, additionalProperties, items, anyOf = [] } = node
    const isMap = Object.keys(patternProperties).length > 0 || (additionalProperties ?? false) !== false
    if (type === 'array') require(node.maxItems !== undefined, 'an array without maxItems')
    if (type === 'object' && isMap) require(node.maxProperties !== undefined, 'a map without maxProperties')
    if (type === 'string') {
      const isShort = node.enum !== undefined || node.const !== undefined || node.format !== undefined
      require(isShort ||
        node.maxLength !== undefined ||
        /^\^[^*+]*\$$/.test(node.pattern ?? ''), 'a text without maxLength')
    }
    const isOpen = type === undefined && anyOf.length === 0 && node.const === undefined && node.enum === undefined
    require(!isOpen, 'any value')
    for (const other of ['allOf', 'oneOf', 'not', '$ref', 'prefixItems']) {
      t.notOk(other in node, `${place}: the sizes in ${other} are not measured`)
    }
    for (const [name, field] of Object.entries(properties)) walk(field, `${place}/${name}`)
    for (const field of Object.values(patternProperties)) walk(field, `${place}/{}`)
    if (typeof additionalProperties === 'object') walk(additionalProperties, `${place}/{}`)
    walk(items, `${place}[]`)
    for (const alternative of anyOf) walk(alternative, `${place}|`)
  }
  for (const { id, body } of operations) walk(body, `${id} body`)
  t.ok(count > 500)
  t.same([...used].sort(), Object.keys(reasons).sort(), 'each reason is needed')
})

t.test('the attacks are answered with their first problems', async t => {
  const { signed, stop } = await startAdmin()
  t.teardown(stop)
  const send = async (method: string, path: string, body: string) =>
    signed({ method, path: `/api/v1${path}`, body, headers: { 'content-type': 'application/json' } })
  const objects = '/buckets/none/objects'
  for (const element of ['{}', '1', '[]', '{"key":1,"versionId":1}']) {
    const list = (count: number) => `{"objects":[${`${element},`.repeat(count)}${element}]}`
    const few = await send('DELETE', objects, list(9000))
    t.equal(few.status, 400)
    t.same(few.json.errors, [{ element: '/objects', message: 'must have at most 1000 entries' }])
    const many = await send('DELETE', objects, list(element.length > 5 ? 60_000 : 400_000))
    t.match(many.json, { status: 400, code: 'malformed_request', detail: 'The body has more than 50000 values.' })
    t.equal((await send('POST', `${objects}/download-zip`, list(9000))).status, 400)
  }
  const headers = JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`h${index}`, 1])))
  const presigned = await send('POST', '/presign', `{"method":"GET","bucket":"b","key":"k","headers":${headers}}`)
  t.same(presigned.json.errors, [{ element: '/headers', message: 'must have at most 50 fields' }])
})
