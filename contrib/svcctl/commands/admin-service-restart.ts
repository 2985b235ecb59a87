import { readStart, waitedMsMax, waitForStart } from '../admin/restart-wait.ts'
import { defineCommand } from '../command.ts'
import { AdminError, conflictError, usageError } from '../errors.ts'

interface Options {
  readonly wait: boolean
  readonly nodes?: readonly string[]
  readonly delaySeconds: number
  readonly force?: boolean
}

const delaySecondsMax = 300

function parseDelay(text: string): number {
  const seconds = Number(text)
  if (/^\d+$/.test(text) && seconds <= delaySecondsMax) return seconds
  throw usageError(`--delay-seconds takes 0 to ${delaySecondsMax}, such as 60.`)
}

function rejectRefused(error: unknown): never {
  if (!(error instanceof AdminError) || error.code !== 'start_would_fail') throw error
  throw conflictError(`${error.message} --force restarts it all the same.`)
}

export default defineCommand<Options>({
  name: 'admin service restart',
  summary: 'Restarts the server in its place, and waits until it answers again.',
  description:
    'Requests under way are answered, at most for SVC_STOP_TIMEOUT (30 s); new ones are told to come again (503). Then the same program ' +
    `begins anew in the same process, with the environment that it was started with. The command fails where the server does not answer as a new start within ${waitedMsMax / 1000} s. ` +
    'Needs admin:ServiceRestart, and admin:ServerInfo to wait.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    {
      flags: '--delay-seconds <seconds>',
      summary: `how long the server goes on before (0 to ${delaySecondsMax}; default 0)`,
      parse: parseDelay,
      default: 0,
    },
    { flags: '--nodes <node>', summary: 'only these (default all)', isRepeatable: true },
    { flags: '--force', summary: 'also where it is seen before that the server would not start again' },
    { flags: '--no-wait', summary: 'end as soon as the server has taken the request' },
  ],
  examples: [
    'svcctl admin service restart home --yes',
    'svcctl admin service restart home --delay-seconds 60 --no-wait',
  ],
  async run(context, [alias], { wait, delaySeconds, nodes: chosen, force }) {
    await context.requireConfirmed(`Restart service ${alias}?`)
    const { output } = context
    const client = await context.connectAdmin(alias!)
    const startedAt = wait ? await readStart(client) : undefined
    const { body } = await client
      .send({
        operation: 'restartService',
        method: 'POST',
        path: '/service/restart',
        body: { delaySeconds, nodes: chosen, force },
      })
      .catch(rejectRefused)
    const nodes = (body as { readonly nodes: readonly string[] }).nodes
    if (startedAt === undefined) {
      output.done({ nodes }, `The restart of ${nodes.join(', ')} is asked for.`)
      if (wait) output.note('These credentials do not show when it is done: that needs admin:ServerInfo.')
      return
    }
    const dueMs = performance.now() + delaySeconds * 1000
    const restarted = await waitForStart(client, { startedAt, withinMs: delaySeconds * 1000 + waitedMsMax })
    const seconds = Math.max(0, (performance.now() - dueMs) / 1000)
    output.done(
      { nodes, startedAt: restarted, seconds: Number(seconds.toFixed(1)) },
      `${nodes.join(', ')} restarted in ${Math.max(1, Math.round(seconds))} s.`,
    )
  },
})
