/** Worker threads, for real: plugins in several of them, calls, errors, deaths and the order of stopping. */
import { CatalogError } from 'svc/kernel'
import t, { type Test } from 'tap'
import { resolveConfiguration } from '../config/resolve.ts'
import { createKernel } from '../kernel.ts'
import { createLogger } from '../program/log.ts'
import { createSystemPorts } from '../program/system-ports.ts'
import { createThreadPool } from '../program/thread-pool.ts'
import many from './fixtures/threads.ts'

type Line = Record<string, unknown>

async function startThreads(t: Test, workerCount: number, given: Record<string, unknown> = {}, stopTimeoutMs = 5000) {
  const lines: Line[] = []
  const stops: string[] = []
  const writeLog = (line: string) => lines.push(JSON.parse(line))
  const log = createLogger('info', { write: writeLog })
  const ports = createSystemPorts()
  const { sections: config } = resolveConfiguration([many], { argv: [], env: {}, given: { many: given } })
  const modules = [{ name: 'many', url: new URL('./fixtures/threads.ts', import.meta.url).href }]
  const common = { config, log, startTimeoutMs: 60_000, stopTimeoutMs }
  const pool = createThreadPool({
    ...common,
    selection: { modules, disabled: [] },
    workerCount,
    logLevel: 'info',
    clock: ports.clock,
    writeLog,
  })
  const onStopRequest = (reason: string) => stops.push(reason)
  const kernel = createKernel({ ...common, plugins: [many], ports, threads: pool.threads, onStopRequest })
  const stop = async () => {
    await pool.drain()
    await kernel.drain()
    await pool.stop()
    await kernel.stop()
  }
  t.teardown(stop)
  kernel.setup()
  await kernel.start()
  await pool.start()
  await pool.serve()
  await kernel.serve()
  return { pool, kernel, lines, stops, stop, threads: pool.threads }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 9000; i++) {
    if (await condition()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('it did not come to that in time')
}

t.test('one thread alone answers itself', async t => {
  const { threads } = await startThreads(t, 0)
  t.match(threads, { index: 0, workerCount: 0, isMain: true, isFront: true })
  t.match(await threads.call(0, 'many.echo', 1), { payload: 1, from: 0, by: 0 })
  t.same(await threads.callOthers('many.echo'), [])
  await t.rejects(threads.call(1, 'many.echo'), { code: 'thread_gone' })
  await t.rejects(threads.call(0, 'many.nothing'), /thread 0 has no handler for "many.nothing"/)
  threads.post(0, 'many.tell', 'x')
  t.same(await threads.call(0, 'many.told'), ['x'])
})

t.test('threads call each other, in order, with errors that keep their message', async t => {
  const { threads, kernel, lines, stops, stop } = await startThreads(t, 2, { greeting: 'good day' })
  const ask = (from: number, target: number, name: string, payload?: unknown) =>
    threads.call(from, 'many.ask', { target, name, payload })

  await t.test('everyone reaches everyone, with the same configuration', async t => {
    for (const from of [0, 1, 2]) {
      for (const target of [0, 1, 2]) {
        const answer = await ask(from, target, 'many.echo', { deep: [1] })
        t.same(answer, { payload: { deep: [1] }, from, by: target, greeting: 'good day' }, `${from} asks ${target}`)
      }
    }
    const by = (answers: unknown) => (answers as { by: number }[]).map(answer => answer.by)
    t.same(by(await threads.callOthers('many.echo')), [1, 2])
    t.same(by(await threads.call(2, 'many.ask-others')), [0, 1])
  })

  await t.test('declared errors keep all fields; others keep name, code and message', async t => {
    for (const [from, target] of [
      [0, 1],
      [1, 0],
      [1, 2],
    ]) {
      const error = await ask(from, target, 'many.refuse').then(
        () => undefined,
        error => error,
      )
      t.ok(error instanceof CatalogError)
      t.match(error, { code: 'too_loud', status: 418, message: 'It is far too loud.', extra: { Volume: '11' } })
      t.match(error.stack, `in thread ${from === 0 ? target : from}`)
      await t.rejects(ask(from, target, 'many.break'), { name: 'TypeError', code: 'EBROKEN', message: 'broken' })
      await t.rejects(ask(from, target, 'many.nothing'), /thread \d has no handler for "many.nothing"/)
      await t.rejects(ask(from, target, 'many.unclonable'), { name: 'DataCloneError' })
    }
    await t.rejects(
      threads.call(1, 'many.echo', () => 1),
      { name: 'DataCloneError' },
    )
    await t.rejects(ask(1, 9, 'many.echo'), { code: 'thread_gone' })
  })

  await t.test('messages from one thread to another arrive in order', async t => {
    const size = 500
    for (const [from, target] of [
      [0, 1],
      [1, 0],
      [1, 2],
    ]) {
      await threads.call(from, 'many.post-burst', { target, size })
      let told: unknown[] = []
      await until(async () => {
        told = told.concat(await threads.call(target, 'many.told'))
        return told.length >= size
      })
      t.same(
        told,
        Array.from({ length: size }, (_, i) => `${from}:${i}`),
      )
    }
    threads.post(1, 'many.refuse')
    await until(() => lines.some(line => line.msg === 'message handler failed' && line.thread === 1))
  })

  await t.test('transferred objects are moved, also from worker to worker', async t => {
    t.same(await threads.call(0, 'many.transfer', { target: 2, size: 10 }), { left: 0, sum: 20 })
    t.same(await threads.call(1, 'many.transfer', { target: 2, size: 10 }), { left: 0, sum: 20 })
  })

  await t.test('state, announcements and requests to stop cross threads; logs name theirs', async t => {
    t.match(await threads.call(2, 'many.state'), { state: 'ready' })
    t.same(kernel.announcements(), { thread1: 'asked', thread2: 'asked' })
    await Promise.all([threads.call(1, 'many.stop', 'from 1'), threads.call(2, 'many.stop', 'from 2')])
    await until(() => stops.length > 0)
    t.equal(stops.length, 1)
    const setUp = lines
      .filter(line => line.msg === 'set up')
      .map(({ thread, plugin, front }) => [thread, plugin, front])
    t.same(setUp.slice(1).sort(), [
      [1, 'many', true],
      [2, 'many', true],
    ])
    t.same(setUp[0], [undefined, 'many', false], 'the main thread first')
  })

  await stop()
  const stopped = lines.filter(line => line.msg === 'stopped here').map(({ thread }) => thread)
  t.same(new Set(stopped.slice(0, 2)), new Set([1, 2]), 'workers stop before the main thread')
  t.equal(stopped.length, 3)
  t.same(
    lines.filter(line => line.level === 'warn'),
    [],
    'no thread had to be ended by force',
  )
  t.equal(kernel.service.state(), 'stopped')
})

t.test('the death of a thread fails its calls, is reported, and the thread is replaced', async t => {
  const { threads, lines, pool } = await startThreads(t, 2)
  const exits: number[] = []
  threads.onExit(index => exits.push(index))
  const alive = (index: number) =>
    threads.call(index, 'many.echo').then(
      () => true,
      () => false,
    )
  for (const how of ['many.exit', 'many.crash']) {
    const fromMain = t.rejects(threads.call(1, 'many.never'), { code: 'thread_gone', message: 'Thread 1 has ended.' })
    const ask = { target: 1, name: 'many.never' }
    const fromWorker = t.rejects(threads.call(2, 'many.ask', ask), { code: 'thread_gone' })
    await t.rejects(threads.call(1, how), { code: 'thread_gone' })
    await Promise.all([fromMain, fromWorker])
    t.equal(exits.pop(), 1)
    t.equal(await alive(2), true)
    t.same(
      (await threads.callOthers<{ by: number }>('many.echo')).map(({ by }) => by),
      [2],
    )
    await until(() => alive(1))
    t.match(await threads.call(1, 'many.state'), { state: 'ready' })
    await until(async () => (await threads.call<unknown[]>(2, 'many.ask-others')).length === 2)
  }
  t.match(
    lines.find(line => line.msg === 'worker thread ended'),
    { level: 'error', thread: 1, code: 7 },
  )
  t.match(
    lines.find(line => line.msg === 'worker thread failed'),
    { err: { message: 'an uncaught error' } },
  )
  await pool.drain()
  await t.rejects(threads.call(1, 'many.exit'), { code: 'thread_gone' })
  const replaced = lines.filter(line => line.msg === 'replacing worker thread').length
  await new Promise(resolve => setTimeout(resolve, 600))
  t.equal(lines.filter(line => line.msg === 'replacing worker thread').length, replaced, 'not once it drains')
})

t.test('a worker that fails to start fails the start, by name', async t => {
  await t.rejects(startThreads(t, 2, { failIn: 2 }), {
    name: 'PluginError',
    message: 'plugin "many": start: not in thread 2',
  })
})

t.test('a worker that does not drain in time is not waited for', async t => {
  const { stop, lines } = await startThreads(t, 1, { hangIn: 1 }, 50)
  const started = Date.now()
  await stop()
  t.ok(Date.now() - started < 4000)
  t.match(
    lines.find(line => line.msg === 'drain failed'),
    { thread: 1, plugin: 'many' },
  )
})
