/** The command `svc init`. */
import { definePlugin } from 'svc/kernel'
import { createInitCommand } from './command.ts'

export default definePlugin({
  name: 'init',
  setup({ ports, contribute }) {
    contribute('cli.command', 'init', createInitCommand(ports.random))
  },
})
