import { readStart, waitedMsMax, waitForEnd } from '../admin/restart-wait.ts'
import { defineCommand } from '../command.ts'

interface Options {
  readonly wait: boolean
  readonly nodes?: readonly string[]
}

export default defineCommand<Options>({
  name: 'admin service stop',
  summary: 'Stops the server, and waits until nothing answers any more.',
  description:
    'Requests under way are answered, at most for SVC_STOP_TIMEOUT (30 s); new ones are told to come again (503). Then the process ends ' +
    `with exit code 0, or 3 where requests were cut off. The command fails where the server still answers after ${waitedMsMax / 1000} s, or a supervisor has started it ` +
    'again. Needs admin:ServiceStop.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [
    { flags: '--nodes <node>', summary: 'only these (default all)', isRepeatable: true },
    { flags: '--no-wait', summary: 'end as soon as the server has taken the request' },
  ],
  examples: ['svcctl admin service stop home --yes', 'svcctl admin service stop home --yes --no-wait'],
  async run(context, [alias], { wait, nodes: chosen }) {
    await context.requireConfirmed(`Stop service ${alias}?`)
    const { output } = context
    const client = await context.connectAdmin(alias!)
    const startedAt = wait ? await readStart(client) : undefined
    const { body } = await client.send({
      operation: 'stopService',
      method: 'POST',
      path: '/service/stop',
      body: { nodes: chosen },
    })
    const { nodes } = body as { readonly nodes: readonly string[] }
    if (!wait) {
      output.done({ nodes }, `The stop of ${nodes.join(', ')} is asked for.`)
      return
    }
    const askedMs = performance.now()
    await waitForEnd(client, { startedAt: startedAt ?? '', withinMs: waitedMsMax })
    const seconds = (performance.now() - askedMs) / 1000
    output.done(
      { nodes, seconds: Number(seconds.toFixed(1)) },
      `${nodes.join(', ')} stopped in ${Math.max(1, Math.round(seconds))} s.`,
    )
  },
})
