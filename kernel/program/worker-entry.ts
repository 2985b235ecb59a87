/** The program of a worker thread: the same plugins as the main thread, whose phases the main thread starts. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Kernel } from '../kernel.ts'
import type { LogLevel } from '../log.ts'
import { createThreadCalls, type Envelope } from '../threads/calls.ts'
import { loadPlugins } from './discover.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createRelaySink, setLogLevel } from './log.ts'
import { returnMemoryAtRest } from './memory-at-rest.ts'
import type { WorkerData } from './thread-pool.ts'

if (parentPort === null) throw new Error('thread-entry runs in worker threads only')
const port = parentPort
const { index, workerCount, selection, config, logLevel, startTimeoutMs, stopTimeoutMs } = workerData as WorkerData

// All messages go to the main thread, which forwards those for another worker.
const send = (envelope: Envelope): boolean => {
  if (envelope.kind === 'call' && envelope.to !== 0 && !calls.running.has(envelope.to)) return false
  port.postMessage(envelope, envelope.transfer as ArrayBuffer[] | undefined)
  return true
}

const sink = createRelaySink(lines => threads.post(0, 'kernel.log', lines))
const log = createLogger(logLevel, sink).child({ thread: index })
const calls = createThreadCalls({ index, workerCount, log, send })
const { threads } = calls
calls.running.add(0)

let kernel: Kernel | undefined
let stopped = false
/** Answers with the messages of failures, if the step reports them. The log lines of a step reach the main thread before its answer: so the last line of the start is the last. */
function handleStep(name: string, step: () => Promise<readonly Error[] | void> | undefined): void {
  threads.handle(name, async () => {
    try {
      return (await step())?.map(({ message }) => message)
    } finally {
      await sink.flush()
    }
  })
}

handleStep('kernel.start', async () => {
  const plugins = await loadPlugins(selection)
  if (stopped) throw new Error('stopped while starting')
  const configureLog = ({ level }: { readonly level: LogLevel }) => setLogLevel(sink, level)
  kernel = createHostKernel({
    plugins,
    config,
    threads,
    log,
    startTimeoutMs,
    stopTimeoutMs,
    configureLog,
  })
  kernel.setup()
  await kernel.start()
})
handleStep('kernel.serve', async () => {
  await kernel?.serve()
  returnMemoryAtRest()
})
handleStep('kernel.drain', () => kernel?.drain())
handleStep('kernel.stop', async () => {
  stopped = true
  const failures = await kernel?.stop()
  // With its only listener gone the thread has nothing left to wait for; the answer is sent before that.
  setImmediate(() => port.close())
  return failures
})
threads.handle('kernel.running', (now: readonly number[]) => {
  for (const other of calls.running) if (!now.includes(other)) calls.forget(other)
  for (const other of now) calls.running.add(other)
})

port.on('message', calls.dispatch)
