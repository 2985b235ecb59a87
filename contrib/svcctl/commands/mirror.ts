import { defineCommand, parseDuration } from '../command.ts'
import { transferOptions } from '../copying.ts'
import { type MirrorOptions, mirror } from '../mirroring.ts'
import { watchAndMirror } from '../watching.ts'

export default defineCommand<MirrorOptions>({
  name: 'mirror',
  summary: 'Makes the target equal to the source: copies missing files, and reports or replaces different ones.',
  description:
    'Sizes are compared, then times, and if times are inconclusive, checksums. Different files in the target are kept and reported ' +
    '(exit code 5) unless --overwrite is given; files only in the target are kept unless --remove is given, and are removed only if ' +
    'everything else has succeeded. An empty source removes nothing without --yes. With --watch it continues with changes in the ' +
    'folder, also after failures, until a signal ends it, or the folder is replaced by another one (exit code 1).',
  arguments: [
    { name: 'source', summary: 'folder or ALIAS/bucket/prefix', kind: 'target-or-path' },
    { name: 'target', summary: 'folder or ALIAS/bucket/prefix', kind: 'target-or-path' },
  ],
  options: [
    { flags: '--overwrite', summary: 'replace different files' },
    { flags: '--remove', summary: 'remove files that the source does not have' },
    { flags: '--exclude <pattern>', summary: 'leave out keys that match, for example **/*.tmp', isRepeatable: true },
    { flags: '--checksum', summary: 'compare contents instead of times' },
    { flags: '--dry-run', summary: 'show the actions, and do nothing' },
    { flags: '--watch', summary: 'continue with changes in the folder, until a signal' },
    {
      flags: '--watch-interval <duration>',
      summary: 'how often all is compared all the same (default 5m)',
      parse: parseInterval,
    },
    ...transferOptions,
  ],
  examples: [
    'svcctl mirror ./site home/www',
    'svcctl mirror --overwrite --remove --dry-run home/photos ./photos',
    'svcctl mirror --overwrite home/photos offsite/photos',
    'svcctl mirror --sse s3 ./letters home/letters',
    'svcctl mirror --watch --overwrite --remove ./site home/www',
  ],
  run: (context, [source, target], options) =>
    (options.watch ? watchAndMirror : mirror)(context, source!, target!, options),
})

function parseInterval(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds < 1000 || milliseconds > 86_400_000) throw new RangeError('is not between 1s and 24h')
  return milliseconds
}
