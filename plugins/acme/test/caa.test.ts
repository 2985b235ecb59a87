/** CAA records and their parameters, as RFC 8659 and RFC 8657 tell. */
import t from 'tap'
import { caaDoubt, caaProblem } from '../caa.ts'

const accountUrl = 'https://ca.test/account/1'

/** `issue "ca.test"`, with `!` in front where it is critical. */
function ask(
  records: readonly string[],
  { domain = 'www.a.test', identities = ['ca.test'], challenge = 'http-01', look = caaProblem } = {},
) {
  const properties = records.map(record => {
    const [, critical, tag, value] = /^(!?)(\w+) "(.*)"$/.exec(record)!
    return { isCritical: critical === '!', tag: tag!, value: value! }
  })
  const question = { domain, identities, challenge, accountUrl }
  return look({ name: 'a.test', properties }, question)
}

t.test('an authority that is named may issue, in any spelling and beside others', async t => {
  for (const records of [
    ['issue "ca.test"'],
    ['issue "other.test"', 'issue "CA.test"'],
    ['issue "ca.test; policy=ev"'],
  ]) {
    t.equal(ask(records), undefined, records.join())
  }
})

t.test('one that is not named may not, and the sentence has the record to add', async t => {
  t.equal(
    ask(['issue "other.test"']),
    'The CAA records of a.test, 0 issue "other.test", do not let this authority issue for www.a.test. Add 0 issue "ca.test".',
  )
  t.match(ask(['issue ";"']), /do not let this authority/)
})

t.test('records without a word on issuing allow it', async t => {
  t.equal(ask(['iodef "mailto:a@a.test"']), undefined)
  t.equal(ask(['!iodef "mailto:a@a.test"']), undefined)
  t.equal(ask(['issuewild ";"']), undefined)
  t.equal(ask(['future "x"']), undefined)
})

t.test('a critical record that nobody knows forbids everything', async t => {
  t.match(ask(['issue "ca.test"', '!future "x"']), /The critical CAA record 128 future "x" of a\.test/)
})

t.test('wildcards go by issuewild where there is one', async t => {
  const domain = '*.a.test'
  t.equal(ask(['issue "ca.test"'], { domain }), undefined)
  t.match(ask(['issue "ca.test"', 'issuewild ";"'], { domain }), /Add 0 issuewild "ca\.test"/)
  t.equal(ask(['issue "other.test"', 'issuewild "ca.test"'], { domain }), undefined)
})

t.test('parameters bind the account and the method', async t => {
  t.equal(ask([`issue "ca.test; accounturi=${accountUrl}"`]), undefined)
  t.match(ask([`issue "ca.test; accounturi=${accountUrl}0"`]), /but not to the account .* by http-01/)
  t.equal(ask(['issue "ca.test; validationmethods=dns-01,http-01"']), undefined)
  t.match(ask(['issue "ca.test;validationmethods=dns-01"']), /but not to the account/)
})

t.test('an authority that does not tell its name is refused only where all are', async t => {
  t.equal(ask(['issue "other.test"'], { identities: [] }), undefined)
  t.match(ask(['issue ";"'], { identities: [] }), /let no authority issue for www\.a\.test/)
})

t.test('that such an authority may be another than the named one is told', async t => {
  const unknown = { identities: [], look: caaDoubt }
  t.match(
    ask(['issue "other.test"'], unknown),
    /^the CAA records of a\.test allow www\.a\.test to 0 issue "other\.test", and this/,
  )
  t.equal(ask(['issue ";"'], unknown), undefined, 'that is forbidden')
  t.equal(ask(['iodef "mailto:a@a.test"'], unknown), undefined)
  t.equal(ask(['issue "other.test"'], { look: caaDoubt }), undefined, 'the authority tells its name')
  t.match(ask(['issuewild "other.test"'], { ...unknown, domain: '*.a.test' }), /issuewild/)
})
