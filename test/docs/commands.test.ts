/** Commands of svcctl that documents and messages name: each is one that there is, with arguments and options that it takes. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { listCommands } from '../../contrib/svcctl/commands/index.ts'
import { createParser } from '../../contrib/svcctl/parser.ts'
import { root } from './blocks.ts'

const ignored = new Set(['node_modules', 'dist', 'coverage', '.tap', 'data'])
const sourcesOf = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: name => ignored.has(name.split(/[\\/]/).pop()!) }).map(name => ({
    name,
    text: readFileSync(join(root, name), 'utf8'),
  }))
const commands = await listCommands()

/** The words of each call of svcctl in a shell script. What the shell would put in is left as it is written. */
function callsOf(script: string): string[][] {
  const calls: string[][] = []
  let words: string[] = []
  let word: string | undefined
  const endWord = () => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  const endCommand = () => {
    endWord()
    while (/^(do|then|if|!|[A-Z_]+=.*)$/.test(words[0] ?? '')) words.shift()
    if (words[0] === 'svcctl') calls.push(words.slice(1))
    words = []
  }
  const parts = /\\\n|'([^']*)'|"((?:[^"\\]|\\.)*)"|(?<=^|\s)#[^\n]*|\d?>{1,2}&?|<|\$?\(|[\n;|&)]|[^\S\n]+|\\.|./gs
  for (const [part, single, double] of script.replaceAll('\\\n', ' ').matchAll(parts)) {
    if (single !== undefined || double !== undefined) {
      word = (word ?? '') + (single ?? double)
      // What is called in quotes: "$(svcctl …)".
      if (double?.includes('$(')) calls.push(...callsOf(/\$\((.*)\)/s.exec(double)?.[1] ?? ''))
    } else if (/^[^\S\n]+$/.test(part) || part.startsWith('#')) endWord()
    else if (/^\d?>|^</.test(part)) {
      endWord()
      words.push('>')
    } else if (/^(\$?\(|[\n;|&)])$/.test(part)) endCommand()
    else word = (word ?? '') + part
  }
  endCommand()
  // A redirection ends what is of interest.
  return calls.map(call => (call.includes('>') ? call.slice(0, call.indexOf('>')) : call))
}

/** Why the command line is none; undefined where it is one. */
async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const [stdout, stderr] = [new PassThrough().resume(), new PassThrough().resume()]
  const io = { stdin: new PassThrough(), stdout, stderr, env: {}, cwd: root, signal: new AbortController().signal }
  let hasRun = false
  try {
    await createParser(commands, 'test', io, async () => {
      hasRun = true
    }).parseAsync(words, { from: 'user' })
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return code === 'commander.helpDisplayed' || code === 'commander.version' ? undefined : message
  }
  return hasRun ? undefined : 'is no command'
}

t.test('calls of svcctl in documents are found', async t => {
  const script = `# svcctl none\nprintf 'a\\n' | svcctl alias set home http://h admin --x # more\nX=1 svcctl ls "a b" > out
for i in 1; do svcctl cat \\\n 'c' && break; done; echo "$(svcctl du 1)" svcctl no`
  t.same(callsOf(script), [
    ['alias', 'set', 'home', 'http://h', 'admin', '--x'],
    ['ls', 'a b'],
    ['cat', 'c'],
    ['du', '1'],
  ])
  t.match(await problemOf(['admin', 'kms', 'status', 'home']), /unknown command|is no command/)
  t.match(await problemOf(['admin', 'usage', 'home', 'more']), /too many arguments/)
  t.match(await problemOf(['ls', '--unknown']), /unknown option/)
})

t.test('svcctl accepts each call in a block of a document', async t => {
  const wrong: string[] = []
  let count = 0
  for (const { name, text } of sourcesOf('**/*.md')) {
    for (const [, script] of text.matchAll(/```sh\n([\s\S]*?)```/g)) {
      for (const words of callsOf(script!)) {
        // A function of that name is made, not called.
        if (words[0] === undefined) continue
        count++
        const problem = await problemOf(words)
        if (problem !== undefined) wrong.push(`${name}: svcctl ${words.join(' ')}: ${problem}`)
      }
    }
  }
  t.same(wrong, [])
  t.ok(count > 60, `${count} calls`)
})

t.test('each command that a text or a message names is there, or is a group of commands', t => {
  const names = commands.map(({ name }) => name)
  const wrong: string[] = []
  let count = 0
  for (const { name, text } of [...sourcesOf('**/*.md'), ...sourcesOf('{kernel,plugins,contrib}/**/*.ts')]) {
    if (/(^|[\\/])test[\\/]/.test(name)) continue
    const prose = name.endsWith('.md') ? text.replace(/```[\s\S]*?```/g, '') : text
    for (const [, given] of prose.matchAll(/svcctl (admin [a-z][a-z-]*(?: [a-z][a-z-]*)*)/g)) {
      count++
      const words = given!.split(' ')
      // Where the command ends and its arguments begin is for the command to say.
      const isThere = words.some((_, at) => names.includes(words.slice(0, at + 1).join(' ')))
      // A group of one is a command whose last word was forgotten.
      const isGroup = names.filter(other => other.startsWith(`${given} `)).length > 1
      if (!isThere && !isGroup) wrong.push(`${name}: svcctl ${given}`)
    }
  }
  t.same(wrong, [])
  t.ok(count > 20, `${count} of them`)
  t.end()
})
