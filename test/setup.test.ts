/** What test/early.mjs and test/setup.mjs save is lost silently when a new version of tap does things its own way. */
import { executionAsyncId } from 'node:async_hooks'
import { execFileSync } from 'node:child_process'
import t from 'tap'

t.test('tap follows no process that a test starts', async t => {
  const script = "console.log(Object.keys(process.env).filter(name => /^_TAPJS|^NODE_OPTIONS$/.test(name)).join(' '))"
  const env = { PATH: process.env.PATH }
  t.equal(execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' }).trim(), '')
  t.equal(process.env.NODE_OPTIONS ?? '', '', 'one that inherits the environment, too')
})

t.test('nothing is called for each promise, which takes a quarter of the CPU of a test of the server', async t => {
  await null
  // With hooks, each continuation of a promise has an id of its own.
  t.equal(executionAsyncId(), 0)
})

t.test('the client of Node.js that nobody uses is not loaded with node:http', async t => {
  const http = await import('node:http')
  t.notOk('WebSocket' in http)
  t.equal(http.createServer, process.getBuiltinModule('node:http').createServer)
})
