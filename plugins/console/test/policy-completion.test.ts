/** What the editor of policies offers, and that it offers what the server knows and nothing else. */
import { operators } from 'svc/plugins/policy/api'
import t from 'tap'
import { completePolicy, conditionOperators, type PolicyVocabulary } from '../web/src/parts/policy-completion.ts'

const known: PolicyVocabulary = {
  actions: [
    { action: 's3:GetObject', description: 'read an object', conditionKeys: ['aws:SourceIp', 's3:versionid'] },
    { action: 'admin:ListUsers', description: 'list users', conditionKeys: ['aws:SourceIp'] },
  ],
  buckets: ['photos'],
  hasPrincipal: false,
}

/** `|` is the cursor. */
function offered(text: string, vocabulary = known) {
  const at = text.indexOf('|')
  const plain = text.replace('|', '')
  const found = completePolicy(plain, at, vocabulary)
  return found === null
    ? undefined
    : { replaces: plain.slice(found.from, found.to), labels: found.options.map(({ label }) => label) }
}

const labelsAt = (text: string, vocabulary?: PolicyVocabulary) => offered(text, vocabulary)?.labels

t.test('the operators that are offered are those that the server evaluates', async t => {
  t.same(conditionOperators.toSorted(), [...operators.keys()].toSorted())
})

t.test('names of elements by their place', async t => {
  t.same(labelsAt('{"|": 1}'), ['Version', 'Id', 'Statement'])
  t.match(labelsAt('{"Statement": [{"|": ""}]}'), ['Sid', 'Effect', 'Action'])
  t.notOk(labelsAt('{"Statement": [{"|": ""}]}')!.includes('Principal'), 'a policy of users names nobody')
  t.ok(labelsAt('{"Statement": [{"|": ""}]}', { ...known, hasPrincipal: true })!.includes('Principal'))
  t.same(labelsAt('{"Statement": [{"Condition": {"|": {}}}]}'), [...conditionOperators])
  t.same(labelsAt('{"Statement": [{"Condition": {"IpAddress": {"|": ""}}}]}'), ['aws:SourceIp', 's3:versionid'])
})

t.test('values by their element, alone and in lists', async t => {
  t.same(labelsAt('{"Statement": {"Effect": "|"}}'), ['Allow', 'Deny'])
  const actions = ['s3:GetObject', 'admin:ListUsers', 's3:*', 'admin:*']
  t.same(labelsAt('{"Statement": [{"Action": "|"}]}'), actions)
  t.same(labelsAt('{"Statement": [{"Action": ["s3:PutObject", "|"]}]}'), actions)
  t.same(labelsAt('{"Statement": [{"Resource": ["|"]}]}'), [
    'arn:aws:s3:::photos',
    'arn:aws:s3:::photos/*',
    'arn:aws:s3:::*',
  ])
})

t.test('what is typed of a value is replaced, also in a text that is not complete yet', async t => {
  t.match(offered('{"Statement": [{"Action": "s3:Get|"}]}'), { replaces: 's3:Get' })
  t.match(offered('{"Statement": [{"Action": ["s3:Get|"'), { replaces: 's3:Get', labels: ['s3:GetObject'] })
})

t.test('nothing is offered where nothing is known', async t => {
  for (const text of ['{|}', '{"Statement": [{"Sid": "|"}]}', '{"Other": {"Action": "|"}}', '|', '{"Id": 1|}'])
    t.equal(offered(text), undefined, text)
})
