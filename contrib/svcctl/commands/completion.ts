import { type CommandDeclaration, defineCommand } from '../command.ts'
import { completionScript, type Shell, shells } from '../completion.ts'

export function createCompletionCommand(
  listCommands: () => Promise<readonly CommandDeclaration[]>,
): CommandDeclaration {
  return defineCommand({
    name: 'completion',
    summary: 'Prints a script that completes commands, options, aliases, buckets and keys in a shell.',
    arguments: [{ name: 'shell', summary: 'bash, zsh or fish', kind: 'text', choices: shells }],
    options: [],
    examples: [
      'source <(svcctl completion bash)',
      'svcctl completion zsh > ~/.zfunc/_svcctl',
      'svcctl completion fish | source',
    ],
    async run({ io }, [shell]) {
      io.stdout.write(completionScript(shell as Shell, await listCommands()))
    },
  })
}
