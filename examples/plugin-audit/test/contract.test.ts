/** The contract of audit sinks over real files; what a crash leaves; files that are moved away. */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { auditTargetContract, testRecord } from 'svc/plugins/audit/contract'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { connectFile, fileKind } from '../target.ts'

const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [])
const never = new AbortController().signal

function subjectOf(t: Test) {
  const folder = temporaryFolder(t, 'audit')
  const [here, away] = [join(folder, 'audit'), join(folder, 'away')]
  const path = join(here, 'records.jsonl')
  return {
    kind: fileKind,
    settings: { path },
    secrets: [],
    timeoutMs: 1000,
    received: async () => linesOf(path),
    stop: async () => renameSync(here, away),
    start: async () => renameSync(away, here),
  }
}

t.test('the sink keeps the contract', t => auditTargetContract(t, async t => subjectOf(t)))

t.test('half a line that a crash has left spoils no record', async t => {
  const path = join(temporaryFolder(t), 'records.jsonl')
  writeFileSync(path, '{"version":"1","ti')
  const target = connectFile({ path })
  const record = testRecord()
  await target.send([record], never)
  t.same(linesOf(path), ['{"version":"1","ti', record.body.toString()])
})

t.test('a file that is moved away is followed by a new one, which its owner alone can read', async t => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'records.jsonl')
  const target = connectFile({ path })
  const [first, second] = [testRecord(), testRecord()]
  await target.send([first], never)
  renameSync(path, join(folder, 'records.1'))
  await target.send([second], never)
  t.same(linesOf(join(folder, 'records.1')), [first.body.toString()])
  t.same(linesOf(path), [second.body.toString()])
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('a path that is not absolute is refused before anything is written', async t => {
  t.match(fileKind.validate?.({ path: 'records.jsonl' }, '_'), [{ key: 'path' }])
  t.same(fileKind.validate?.({ path: '/var/log/svc/audit.jsonl' }, '_'), [])
})

t.test('the endpoint of a target without a path is empty', async t => {
  t.equal(fileKind.endpoint({ path: '' }), '')
  t.equal(fileKind.endpoint({ path: '/var/log/svc/audit.jsonl' }), 'file:///var/log/svc/audit.jsonl')
})
