import { defineCommand } from '../command.ts'
import { createFailures } from '../failures.ts'
import { formatBytes } from '../formatting.ts'
import { walk } from '../walking.ts'

interface Options {
  readonly depth: number
  readonly recursive?: boolean
}

interface Total {
  /** Ends at a slash; empty: of all. */
  readonly folder: string
  sizeBytes: number
  objectCount: number
}

export default defineCommand<Options>({
  name: 'du',
  summary: 'Adds up the sizes of objects below a bucket or a prefix, or of files below a folder.',
  description:
    'Only current versions count; `svcctl admin usage` shows the total of a server. With --depth each folder down to that level has its ' +
    'own line, before that of its parent.',
  arguments: [{ name: 'target', summary: 'ALIAS[/bucket[/prefix]] or folder', kind: 'target-or-path' }],
  options: [
    {
      flags: '-d, --depth <levels>',
      summary: 'lines for folders, so many levels down (default 0: the sum alone)',
      parse: parseDepth,
      default: 0,
    },
    { flags: '-r, --recursive', summary: 'lines for the folders of all levels' },
  ],
  examples: ['svcctl du home/photos', 'svcctl du --depth 1 home', 'svcctl du -r --json ./photos'],
  async run(context, [text], { depth, recursive }) {
    const { output } = context
    const depthMax = recursive ? Number.POSITIVE_INFINITY : depth
    const failures = createFailures(output)
    const root = text!.replace(/(?<=[^/])\/+$/, '')
    const total: Total = { folder: '', sizeBytes: 0, objectCount: 0 }
    const open = [total]
    const close = () => {
      const { folder, sizeBytes, objectCount } = open.pop()!
      const target = folder === '' ? root : `${root}${root.endsWith('/') ? '' : '/'}${folder.slice(0, -1)}`
      output.result(
        { type: folder === '' ? 'total' : 'folder', target, size: sizeBytes, objects: objectCount },
        `${formatBytes(sizeBytes).padStart(sizeWidth)} ${String(objectCount).padStart(countWidth)} ${objectCount === 1 ? 'object ' : 'objects'}  ${target}`,
      )
    }
    context.startCounting()
    for await (const { key, sizeBytes } of walk(context, text!, failures)) {
      output.progress.addFile()
      while (!key.startsWith(open.at(-1)!.folder)) close()
      for (let end = nextFolder(key, open); end > 0 && open.length <= depthMax; end = nextFolder(key, open)) {
        open.push({ folder: key.slice(0, end), sizeBytes: 0, objectCount: 0 })
      }
      for (const sum of open) {
        sum.sizeBytes += sizeBytes
        sum.objectCount++
      }
      await output.drained()
    }
    output.progress.stop()
    while (open.length > 0) close()
    failures.end()
  },
})

const sizeWidth = 9
const countWidth = 9

/** End of the next folder in the key; 0 if there is none. */
const nextFolder = (key: string, open: readonly Total[]): number => key.indexOf('/', open.at(-1)!.folder.length) + 1

export function parseDepth(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new RangeError('is no number from 0 to 9999')
  return Number(text)
}
