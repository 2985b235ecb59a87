/** One command, from its arguments to its exit code. */
import { CommanderError } from 'commander'
import type { CommandDeclaration } from './command.ts'
import { commandsFor } from './commands/index.ts'
import { type Context, createContext, type GlobalOptions } from './context.ts'
import { type ExitCode, exitCodeOfError, exitCodes, Interrupted } from './errors.ts'
import { FailuresTold } from './failures.ts'
import type { Io } from './io.ts'
import manifest from './package.json' with { type: 'json' }
import { createParser, withoutVainHelp } from './parser.ts'
import { removeUnfinished } from './transfer/local-file.ts'
import { inTypedWords } from './typed-words.ts'

/** Never throws. Errors have been told when it resolves. */
export async function runSvcctl(argv: readonly string[], io: Io): Promise<ExitCode> {
  let context: Context | undefined
  const program = createParser(
    await commandsFor(argv),
    manifest.version,
    io,
    async (command, args, options, global) => {
      context = createContext(io, global)
      await withInterrupt(io.signal, context, runInTypedWords(command, context, args, options))
    },
  )
  try {
    await program.parseAsync(withoutVainHelp(program, argv), { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    if (error instanceof Interrupted) {
      removeUnfinished()
      if (context?.hasTransfers) {
        context.output.note('Interrupted. The same command goes on with large files where it stopped.')
      }
      return exitCodes.interrupted
    }
    if (!(error instanceof FailuresTold)) report(error, context, io, program.opts<GlobalOptions & object>())
    return exitCodeOfError(error)
  } finally {
    await context?.close()
  }
}

async function runInTypedWords(
  command: CommandDeclaration,
  context: Context,
  args: readonly string[],
  options: Record<string, unknown>,
): Promise<void> {
  try {
    await command.run(context, args, options)
  } catch (error) {
    throw inTypedWords(error, new Map(Object.entries(command.typed ?? {})))
  }
}

function report(error: unknown, context: Context | undefined, io: Io, options: GlobalOptions): void {
  const { output } = context ?? createContext(io, options)
  output.failed(error, {})
  if (options.debug && error instanceof Error) io.stderr.write(`${error.stack}\n`)
}

/** Abandons the command where it is: its files and uploads tolerate this. */
function withInterrupt(signal: AbortSignal, context: Context, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      if (!context.isEndingItself) reject(new Interrupted())
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
