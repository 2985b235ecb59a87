import { defineCommand, parseDuration } from '../command.ts'
import { transferOptions } from '../copying.ts'
import { type MirrorOptions, mirror } from '../mirroring.ts'
import { watchAndMirror } from '../watching.ts'

export default defineCommand<MirrorOptions>({
  name: 'mirror',
  summary: 'Makes one side hold what the other does: copies what is missing, and says or changes what differs.',
  description:
    'Sizes are compared, then times, and where times cannot tell, checksums. What differs in the target is left alone and reported ' +
    '(exit code 5) unless --overwrite is given; what is only in the target stays unless --remove is given, and is removed only when ' +
    'everything else has succeeded. An empty source removes nothing without --yes. With --watch it goes on with what changes in the ' +
    'folder, whatever fails in between, until a signal ends it, or another folder takes the place of that one (exit code 1).',
  arguments: [
    { name: 'source', summary: 'folder or ALIAS/bucket/prefix', kind: 'target-or-path' },
    { name: 'target', summary: 'folder or ALIAS/bucket/prefix', kind: 'target-or-path' },
  ],
  options: [
    { flags: '--overwrite', summary: 'replace what differs' },
    { flags: '--remove', summary: 'remove what the source does not have' },
    { flags: '--exclude <pattern>', summary: 'leave out keys that match, for example **/*.tmp', isRepeatable: true },
    { flags: '--checksum', summary: 'compare contents, whatever the times' },
    { flags: '--dry-run', summary: 'say what would be done' },
    { flags: '--watch', summary: 'go on with what changes in the folder, until a signal' },
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
