/** Shell completion, made of the declarations. Aliases are asked for; what is in buckets is not. */
import type { CommandDeclaration, OptionDeclaration } from './command.ts'
import { globalOptions } from './global-options.ts'
import { wordsBelow } from './parser.ts'

export const shells = ['bash', 'zsh'] as const
export type Shell = (typeof shells)[number]

const flagsOf = ({ flags }: OptionDeclaration): string[] =>
  flags
    .replace(/[<[].*$/, '')
    .split(',')
    .map(flag => flag.trim())

/** Shell patterns of the options that take a value. */
const takesValue = ({ flags }: OptionDeclaration): boolean => /[<[]/.test(flags)

interface Row {
  readonly path: string
  readonly words: readonly string[]
  readonly kind: 'words' | CommandDeclaration['arguments'][number]['kind']
}

/** Groups of any depth. */
function groupsOf(commands: readonly CommandDeclaration[]): readonly string[] {
  const names = commands.flatMap(({ name }) => {
    const words = name.split(' ')
    return words.slice(1).map((_, index) => words.slice(0, index + 1).join(' '))
  })
  return [...new Set(names)]
}

function rowsOf(commands: readonly CommandDeclaration[]): Row[] {
  const rows: Row[] = [{ path: '', words: wordsBelow(commands, ''), kind: 'words' }]
  for (const group of groupsOf(commands)) rows.push({ path: group, words: wordsBelow(commands, group), kind: 'words' })
  for (const { name, arguments: args, options } of commands) {
    const choices = args.flatMap(argument => argument.choices ?? [])
    const shown = options.filter(({ isHidden }) => isHidden !== true)
    const kind = args.some(argument => argument.kind === 'path') ? 'target-or-path' : (args[0]?.kind ?? 'text')
    rows.push({ path: name, words: [...choices, ...shown.flatMap(flagsOf), '--help'], kind })
  }
  return rows
}

const actions: Readonly<Record<Row['kind'], string>> = {
  words: '',
  text: '',
  alias: 'aliases=1',
  target: 'aliases=1 slash=/',
  'target-or-path': 'aliases=1 slash=/ files=1',
  path: 'files=1',
}

export function completionScript(shell: Shell, commands: readonly CommandDeclaration[]): string {
  const rows = rowsOf(commands)
  const groupPattern = groupsOf(commands)
    .map(group => `'${group}'`)
    .join('|')
  const values = [
    ...new Set([...globalOptions, ...commands.flatMap(({ options }) => options)].filter(takesValue).flatMap(flagsOf)),
  ]
  const cases = rows.map(
    ({ path, words, kind }) =>
      `    '${path}') words='${words.join(' ')}'${actions[kind] === '' ? '' : `; ${actions[kind]}`} ;;`,
  )
  const body = `_svcctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' word words='' aliases='' slash='' files='' index
  COMPREPLY=()
  case "$previous" in
    --config-dir|--ca) COMPREPLY=($(compgen -f -- "$current")); return ;;
    ${values.filter(flag => !['--config-dir', '--ca'].includes(flag)).join('|')}) return ;;
  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in
      -*) continue ;;
    esac
    case "\${COMP_WORDS[index-1]}" in
      ${values.join('|')}) continue ;;
    esac
    case "$path" in
      '') path="$word" ;;
      ${groupPattern}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  case "$current" in -*) words="$words ${globalOptions.flatMap(flagsOf).join(' ')}" ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$aliases" ]; then
    for word in $(svcctl alias list --quiet 2>/dev/null); do
      case "$word$slash" in "$current"*) COMPREPLY+=("$word$slash") ;; esac
    done
  fi
  if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$current")); fi
  case "\${COMPREPLY[0]}" in */) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _svcctl svcctl
`
  if (shell === 'bash') return `# svcctl completion for bash: source <(svcctl completion bash)\n${body}`
  return `#compdef svcctl
# svcctl completion for zsh: source <(svcctl completion zsh)
autoload -U +X compinit && { (( $+functions[compdef] )) || compinit; }
autoload -U +X bashcompinit && bashcompinit
${body}`
}
