/** No line is lost when a thread or the process ends, although lines that follow one another are written together. */
import { execFile, spawn } from 'node:child_process'
import { Worker } from 'node:worker_threads'
import { until } from 'svc/testing'
import t from 'tap'
import { createLogger, createRelaySink } from '../program/log.ts'

const log = new URL('../program/log.ts', import.meta.url).href
/** The second line comes while the first has just been passed on. */
const twoLines = (end: string) => `
  const logger = createLogger('info', sink)
  logger.info('first')
  setTimeout(() => logger.info('second'), 4)
  setTimeout(() => { ${end} }, 7)
`

function stderrOf(source: string): Promise<string> {
  return new Promise(resolve => {
    const args = ['--conditions=svc-src', '--input-type=module', '--eval', source]
    execFile(process.execPath, args, (_error, _stdout, stderr) => resolve(stderr))
  })
}

t.test('a process that ends by itself, by exit or by an error has written all lines', async t => {
  for (const end of ['', 'process.exit(1)', "throw new Error('the end')"]) {
    const source = `
      import { createLogger, createStderrSink } from ${JSON.stringify(log)}
      const sink = createStderrSink('json')
      ${twoLines(end)}`
    // What is written at the end can overtake a write that a thread of the pool has not yet got to: lines are ordered by their time.
    const lines = (await stderrOf(source)).split('\n').filter(line => line.startsWith('{"level"'))
    const inTime = lines.map(line => JSON.parse(line)).sort((a, b) => (a.time < b.time ? -1 : 1))
    t.same(
      inTime.map(line => line.msg),
      ['first', 'second'],
      end || 'it ends by itself',
    )
  }
})

t.test('a worker that ends by exit or by an error has sent all lines', async t => {
  for (const end of ['process.exit(1)', "throw new Error('the end')"]) {
    const source = `
      const { parentPort } = require('node:worker_threads')
      import(${JSON.stringify(log)}).then(({ createLogger, createRelaySink }) => {
        const sink = createRelaySink(lines => parentPort.postMessage(lines))
        ${twoLines(end)}
      })`
    const worker = new Worker(source, { eval: true, execArgv: ['--conditions=svc-src'] })
    const lines: string[] = []
    worker.on('message', more => lines.push(...more))
    worker.on('error', () => undefined)
    await new Promise(resolve => worker.once('exit', resolve))
    t.same(
      lines.map(line => JSON.parse(line).msg),
      ['first', 'second'],
      end,
    )
  }
})

t.test('lines that follow one another are passed on together, warnings and errors at once', async t => {
  const sent: string[][] = []
  const sink = createRelaySink(lines => sent.push(lines.map(line => JSON.parse(line).msg)))
  const logger = createLogger('info', sink)
  const turn = () => new Promise(resolve => setImmediate(resolve))
  logger.info('1')
  logger.info('2')
  await turn()
  t.same(sent, [['1', '2']], 'those of the first turn')
  logger.info('3')
  await turn()
  logger.warn('4')
  await turn()
  t.same(sent.flat().slice(2), ['3', '4'], 'a warning does not wait, nor does what came before it')
  logger.info('5')
  logger.info('6')
  await until(() => sent.flat().includes('5'))
  t.same(sent.at(-1), ['5', '6'])
  logger.info('7')
  await sink.flush()
  t.same(sent.at(-1), ['7'])
  const before = sent.length
  for (let i = 0; i < 100; i++) logger.info('a'.repeat(1000))
  t.ok(sent.length > before, 'many bytes do not wait for the end of the turn')
})

t.test('a process ends although nobody reads its log any more, and tells what is logged while it ends', async t => {
  const source = `
    import { createLogger, createStderrSink } from ${JSON.stringify(log)}
    // As the program does: this makes a pipe return at once where it is full.
    process.stderr
    const logger = createLogger('info', createStderrSink('json'))
    for (let i = 0; i < 20; i++) logger.info('x'.repeat(10_000))
    process.on('exit', () => logger.info('the last line'))
    setTimeout(() => process.exit(7), 20)`
  const child = spawn(process.execPath, ['--conditions=svc-src', '--input-type=module', '--eval', source], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const code = await new Promise(resolve => child.once('exit', resolve))
  t.equal(code, 7)
  child.stderr.destroy()
  const read = await stderrOf(source.replace('20; i++', '2; i++'))
  t.match(read, /the last line/)
})
