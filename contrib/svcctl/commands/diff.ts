import { defineCommand } from '../command.ts'
import { conflictError, usageError } from '../errors.ts'
import { createFailures } from '../failures.ts'
import { openSide, type Side } from '../mirroring.ts'
import { type Entry, hasContentOf, haveSameContent, isMd5, pairUp } from '../transfer/comparison.ts'
import { workThrough } from '../transfer/work.ts'

interface Options {
  readonly checksum?: boolean
}

const concurrency = 4

export default defineCommand<Options>({
  name: 'diff',
  summary: 'Shows the differences of two buckets, prefixes or folders.',
  description:
    '`<` marks names that only the first has, `>` names that only the second has, `!` different content. Sizes are compared, ' +
    'and of two objects the ETags if they are digests; --checksum reads and compares contents. The exit code is 5 where there ' +
    'are differences.',
  arguments: [
    { name: 'first', summary: 'folder or ALIAS/bucket[/prefix]', kind: 'target-or-path' },
    { name: 'second', summary: 'folder or ALIAS/bucket[/prefix]', kind: 'target-or-path' },
  ],
  options: [{ flags: '--checksum', summary: 'compare contents, too' }],
  examples: ['svcctl diff ./photos home/photos', 'svcctl diff --checksum home/photos offsite/photos'],
  async run(context, [firstText, secondText], { checksum = false }) {
    const { output } = context
    const [first, second] = [await context.target(firstText!), await context.target(secondText!)]
    if (first.kind === 'stream' || second.kind === 'stream') throw usageError('Standard streams cannot be compared.')
    if (first.kind === 'local' && second.kind === 'local') {
      throw usageError(
        'Neither is an alias: one of the two is ALIAS/bucket/prefix (`svcctl alias list` shows aliases).',
      )
    }
    const isLocal = first.kind === 'local' || second.kind === 'local'
    const failures = createFailures(output)
    const open = (target: Parameters<typeof openSide>[1]) =>
      openSide(context, target, isLocal, failures, { mayMiss: false, isQuiet: false })
    const [left, right] = [await open(first), await open(second)]
    let count = 0
    const tell = (sign: string, difference: string, key: string, pair: readonly (Entry | undefined)[]) => {
      count++
      const [a, b] = pair
      const name = (b === undefined || sign === '<' ? left : right).label(key)
      output.result(
        {
          type: 'difference',
          difference,
          key,
          ...(a === undefined ? undefined : { first: left.label(key), firstSize: a.sizeBytes }),
          ...(b === undefined ? undefined : { second: right.label(key), secondSize: b.sizeBytes }),
        },
        `${sign} ${name}`,
      )
    }
    context.startCounting()
    await workThrough(pairUp(left.list(), right.list()), concurrency, async pair => {
      output.progress.addFile()
      const { key } = (pair.left ?? pair.right)!
      if (pair.right === undefined) tell('<', 'only-first', key, [pair.left, undefined])
      else if (pair.left === undefined) tell('>', 'only-second', key, [undefined, pair.right])
      else {
        try {
          const difference = await differenceOf(left, pair.left, right, pair.right, checksum)
          if (difference !== undefined) tell('!', difference, key, [pair.left, pair.right])
        } catch (error) {
          failures.add(error, { first: left.label(key), second: right.label(key) })
        }
      }
      await output.drained()
    })
    output.progress.stop()
    failures.end()
    if (count > 0) throw conflictError(`${count} ${count === 1 ? 'difference' : 'differences'}.`)
  },
})

async function differenceOf(
  left: Side,
  a: Entry,
  right: Side,
  b: Entry,
  isByContent: boolean,
): Promise<'size' | 'content' | undefined> {
  if (a.sizeBytes !== b.sizeBytes) return 'size'
  if (!isByContent) return isMd5(a.etag) && isMd5(b.etag) && a.etag !== b.etag ? 'content' : undefined
  const nameIn = ({ remote }: Side) => {
    const { client, bucket, prefix } = remote!
    return { client, bucket, key: prefix + a.key }
  }
  const { path = b.path } = a
  const isSame =
    path === undefined
      ? await haveSameContent(nameIn(left), nameIn(right))
      : await hasContentOf(
          path,
          nameIn(a.path === undefined ? left : right).client,
          nameIn(a.path === undefined ? left : right),
        )
  return isSame ? undefined : 'content'
}
