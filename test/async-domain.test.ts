/** An error that nobody catches fails the test that caused it, and no other. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const folder = fileURLToPath(new URL('..', import.meta.url))
const file = `${t.testdir()}/throwing.mjs`

const throwing = `
import { EventEmitter } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'

t.test('timer', async () => { setTimeout(() => { throw new Error('from a timer') }, 5); await wait(50) })
t.test('good before', async t => { await wait(5); t.pass() })
t.test('promise', async () => { void Promise.reject(new Error('from a promise')); await wait(20) })
t.test('later', async () => { void (async () => { await wait(5); throw new Error('from later') })(); await wait(50) })
t.test('tick', async () => { process.nextTick(() => { throw new Error('from a tick') }); await wait(20) })
t.test('event', async () => { setImmediate(() => new EventEmitter().emit('error', new Error('from an event'))); await wait(20) })
t.test('outer', async t => { await t.test('inner', async () => { setTimeout(() => { throw new Error('from inside') }, 5); await wait(50) }) })
t.test('good after', async t => { await wait(5); t.pass() })
`

t.test('errors of timers, promises, ticks and events fail their own test', async t => {
  await writeFile(file, throwing)
  const { NODE_OPTIONS, ...env } = process.env
  const run = promisify(execFile)(process.execPath, ['--import=./test/early.mjs', '--import=./test/setup.mjs', file], {
    cwd: folder,
    env: { ...env, TAP: '1', TAP_CHILD_ID: '1' },
  })
  const error = await run.then(
    () => t.fail('The file passed'),
    (error: Error & { stdout: string }) => error,
  )
  const outcomes = (error as { stdout: string }).stdout.matchAll(/^ *(not )?ok \d+ - ([a-z ]+?)(?: #.*)?$/gm)
  // A test that throws is named once more at the end, and so is the error.
  t.same(Object.fromEntries([...outcomes].map(([, not, name]) => [name, not === undefined])), {
    timer: false,
    'from a timer': false,
    'good before': true,
    promise: false,
    'from a promise': false,
    later: false,
    'from later': false,
    tick: false,
    'from a tick': false,
    event: false,
    'from an event': false,
    inner: false,
    outer: false,
    'from inside': false,
    'good after': true,
  })
})
