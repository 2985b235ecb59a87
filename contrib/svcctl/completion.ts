/** Shell completion, made of the declarations. Aliases, buckets and keys are asked for, by `completion-targets`. */
import type { CommandDeclaration, OptionDeclaration } from './command.ts'
import { globalOptions } from './global-options.ts'
import { wordsBelow } from './parser.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
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
  for (const { name, arguments: args, options, isHidden } of commands) {
    if (isHidden === true) continue
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
  target: 'targets=1',
  'target-or-path': 'targets=1 files=1',
  path: 'files=1',
}

/** Files are offered for these. */
const valuesOfFiles = ['--config-dir', '--ca']

export function completionScript(shell: Shell, commands: readonly CommandDeclaration[]): string {
  const rows = rowsOf(commands)
  const groupNames = groupsOf(commands)
  const values = [
    ...new Set([...globalOptions, ...commands.flatMap(({ options }) => options)].filter(takesValue).flatMap(flagsOf)),
  ]
  return shell === 'fish' ? fishScript(rows, groupNames, values) : bashScript(shell, rows, groupNames, values)
}

function bashScript(
  shell: Shell,
  rows: readonly Row[],
  groupNames: readonly string[],
  values: readonly string[],
): string {
  const groupPattern = groupNames.map(group => `'${group}'`).join('|')
  const cases = rows.map(
    ({ path, words, kind }) =>
      `    '${path}') words='${words.join(' ')}'${actions[kind] === '' ? '' : `; ${actions[kind]}`} ;;`,
  )
  const body = `_svcctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' word words='' aliases='' targets='' files='' index
  COMPREPLY=()
  case "$previous" in
    ${valuesOfFiles.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
    ${values.filter(flag => !valuesOfFiles.includes(flag)).join('|')}) return ;;
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
      case "$word" in "$current"*) COMPREPLY+=("$word") ;; esac
    done
  fi
  if [ -n "$targets" ]; then
    # The shell quotes the text that it inserts; the typed part is already quoted.
    compopt -o filenames 2>/dev/null
    word="\${current#[\\"\\']}"
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(svcctl completion-targets -- "\${word//\\\\/}" 2>/dev/null)
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

/** The script for fish, which itself drops candidates that do not begin with the current word. */
function fishScript(rows: readonly Row[], groupNames: readonly string[], values: readonly string[]): string {
  const print = (words: readonly string[]) => (words.length === 0 ? '' : `printf '%s\\n' ${words.join(' ')}`)
  const kinds: Readonly<Record<Row['kind'], readonly string[]>> = {
    words: [],
    text: [],
    alias: ['svcctl alias list --quiet 2>/dev/null'],
    target: [targetsInFish],
    'target-or-path': [targetsInFish, pathsInFish],
    path: [pathsInFish],
  }
  const cases = rows.map(({ path, words, kind }) => {
    const lines = [print(words), ...kinds[kind]].filter(Boolean).map(line => `            ${line}`)
    return [`        case '${path}'`, ...lines].join('\n')
  })
  return `# svcctl completion for fish: svcctl completion fish | source
function __svcctl_candidates
    set -l current (string unescape -- (commandline -ct))
    set -l words (commandline -opc)
    set -l previous $words[1]
    set -e words[1]
    set -l path ''
    for word in $words
        if not string match -q -- '-*' $word; and not contains -- $previous ${values.join(' ')}
            if test -z "$path"
                set path $word
            else if contains -- $path ${groupNames.map(group => `'${group}'`).join(' ')}
                set path "$path $word"
            end
        end
        set previous $word
    end
    if contains -- $previous ${valuesOfFiles.join(' ')}
        ${pathsInFish}
        return
    end
    if contains -- $previous ${values.join(' ')}
        return
    end
    if string match -q -- '-*' "$current"
        ${print(globalOptions.flatMap(flagsOf))}
    end
    switch "$path"
${cases.join('\n')}
    end
end
complete -c svcctl -f -a '(__svcctl_candidates)'
`
}

const targetsInFish = 'svcctl completion-targets -- "$current" 2>/dev/null'
const pathsInFish = '__fish_complete_path "$current"'
