/** `svc server`: runs the kernel in the main thread and in its workers, from the first log line to the exit code. */
import { constants } from 'node:os'
import { ConfigurationError } from '../config/index.ts'
import { isCatalogError } from '../errors.ts'
import { withDeadline } from '../lifecycle.ts'
import type { Logger } from '../log.ts'
import type { Boot } from './boot.ts'
import { endWhenever, endWithin, exit, LAST_MS } from './exit.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createStderrSink, type LogSink, setLogLevel } from './log.ts'
import { returnMemoryAtRest } from './memory-at-rest.ts'
import { readNextStart } from './next-start.ts'
import { endStart } from './start-flags.ts'
import { createSystemPorts } from './system-ports.ts'
import { createThreadPool } from './thread-pool.ts'

const LOG_FLUSH_MS = 2000
/** Nothing has failed, but some clients were not answered. */
const cutOffExitCode = 3
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const

/**
 * Runs until a signal or a plugin requests the end. Resolves with the exit code: 0 after a clean stop, 3 where requests were cut off, otherwise 1. After a restart it does
 * not resolve: the program begins anew in this process. `load` reads again what that will find.
 */
export async function runServer(
  { plugins, discovery, selection, resolved, settings }: Boot,
  load: () => Promise<Boot>,
): Promise<number> {
  if (resolved.problems.length > 0 || settings === undefined) throw new ConfigurationError(resolved.problems)
  const {
    logLevel,
    logFormat,
    workers: workerCount,
    startTimeout: startTimeoutMs,
    stopTimeout: stopTimeoutMs,
  } = settings
  // Files that the server creates are for its user alone, with any umask of the caller.
  process.umask(0o077)
  const sink = createStderrSink(logFormat)
  const log = createLogger(logLevel, sink)
  const ports = createSystemPorts()
  /** Native code may still be writing, on a slow disk. */
  const lastMs = Math.max(LAST_MS, stopTimeoutMs)
  const common = { config: resolved.sections, log, startTimeoutMs, stopTimeoutMs }
  const pool = createThreadPool({
    ...common,
    selection,
    workerCount,
    logLevel,
    clock: ports.clock,
    writeLog: line => sink.write(line),
  })
  const kernel = createHostKernel({
    ...common,
    plugins,
    threads: pool.threads,
    onStopRequest: stop,
    watchLog: sink.watch,
    readNextStart: () => readNextStart(load),
    configureLog({ level, format }) {
      setLogLevel(sink, level)
      sink.setFormat(format)
    },
  })

  let stopping: Promise<void> | undefined
  let isRestart = false
  let exitCode = 0
  async function stopAll(reason: string): Promise<void> {
    // After a start that failed, its reason is the last that people see.
    const level = reason === startFailed ? 'debug' : 'info'
    log[level]({ reason }, 'stopping')
    // Load balancers learn of the stop from any thread at once, not when the last request of a worker has ended.
    kernel.beginDrain()
    const failures = await pool.drain()
    failures.push(...(await kernel.drain()), ...(await pool.stop()), ...(await kernel.stop()))
    if (failures.length > 0) exitCode = 1
    else if (kernel.cutOffRequests() > 0) exitCode = cutOffExitCode
    log[level]('stopped')
  }
  function stop(reason: string, restart = false): void {
    isRestart = restart && stopping === undefined
    // A start has its own deadlines. The remaining time: one to drain, one to stop.
    if (stopping === undefined && kernel.service.state() === 'ready') endWithin(2 * stopTimeoutMs + lastMs)
    stopping ??= stopAll(reason).catch(error => {
      exitCode = 1
      log.fatal({ err: error }, 'stop failed')
    })
  }

  // Deadlines alone do not keep a process alive; this does, until the stop is done.
  const keepAlive = setInterval(() => {}, 2 ** 30)
  const release = handleProcessEvents(log, sink, stop, () => stopping !== undefined && !isRestart, kernel.reload)
  try {
    const started = Date.now()
    for (const { module, reason } of discovery.absent)
      log.warn({ plugin: module.name, reason }, 'a plugin is not loaded')
    const disabled = discovery.found.filter(({ state }) => state === 'disabled').map(({ plugin }) => plugin.name)
    if (disabled.length > 0) log.info({ disabled }, 'plugins are disabled')
    kernel.setup()
    await kernel.start()
    await pool.start()
    await pool.serve()
    await kernel.serve()
    const startMs = Date.now() - started
    endStart()
    returnMemoryAtRest()
    if (stopping === undefined)
      log.info({ version: kernel.service.version, ...kernel.announcements(), workers: workerCount, startMs }, 'ready')
    await new Promise<void>(resolve => {
      if (kernel.service.state() !== 'ready') return resolve()
      kernel.service.onState(() => resolve())
    })
  } catch (error) {
    if (stopping === undefined) {
      exitCode = 1
      log.fatal(startFailure(error), (error as Error).message)
      stop(startFailed)
    }
  }
  await stopping
  release()
  clearInterval(keepAlive)
  // The reader of the log may have stopped reading: that must not prevent the exit of a stopped server.
  await withDeadline(() => sink.flush(), LOG_FLUSH_MS, ports.clock).catch(() => {})
  if (isRestart) {
    await endWhenever()
    restartProcess()
  }
  endWithin(lastMs)
  return exitCode
}

const startFailed = 'start failed'

/** Closes everything that belongs to this program; the process remains, so that its supervisor notices nothing. */
function restartProcess(): never {
  const [, ...argv] = process.argv
  return process.execve!(process.execPath, [process.execPath, ...process.execArgv, ...argv], process.env)
}

/** The message of a declared error is sufficient; unexpected errors need a stack. */
function startFailure(error: unknown): object {
  const cause = (error as Error).cause
  const code = (cause as { code?: unknown } | undefined)?.code
  return isCatalogError(cause) || typeof code === 'string' ? { code } : { err: error }
}

/** Ctrl+C in a terminal reaches `npm start` and the server, and npm passes it on: the second one is the same. */
const SAME_SIGNAL_MS = 500

/** The first signal stops gracefully, the second at once; SIGHUP reloads certificates; an uncaught error is fatal. Returns the undo. */
function handleProcessEvents(
  log: Logger,
  sink: LogSink,
  stop: (reason: string) => void,
  isStopping: () => boolean,
  reload: () => void,
) {
  let firstMs = 0
  const onSignal = (signal: (typeof stopSignals)[number]): void => {
    if (!isStopping()) {
      firstMs = performance.now()
      stop(signal)
      return
    }
    if (performance.now() - firstMs < SAME_SIGNAL_MS) return
    log.warn({ reason: signal }, 'stopped at once by a second signal')
    sink.flushSync()
    endWithin(LAST_MS)
    exit(128 + constants.signals[signal])
  }
  const onUncaught = (error: unknown): void => {
    log.fatal({ err: error }, 'uncaught error')
    sink.flushSync()
    endWithin(LAST_MS)
    exit(1)
  }
  const onHangUp = (): void => {
    log.info('reading certificates again')
    reload()
  }
  for (const signal of stopSignals) process.on(signal, onSignal)
  process.on('SIGHUP', onHangUp)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
  return () => {
    for (const signal of stopSignals) process.off(signal, onSignal)
    process.off('SIGHUP', onHangUp)
    process.off('uncaughtException', onUncaught)
    process.off('unhandledRejection', onUncaught)
  }
}
