import { defineCommand } from '../command.ts'
import { type CopyOptions, copyAll, transferOptions } from '../copying.ts'

export default defineCommand<CopyOptions>({
  name: 'mv',
  summary: 'Moves files and objects: copies them, and removes each source when its copy is complete.',
  description:
    'With -r, everything below the source goes below the target. A target that is a bucket, a folder, or ends at a slash takes the ' +
    'name of the source. An interrupted transfer of a large file goes on when the same command is run again.',
  arguments: [
    {
      name: 'paths',
      summary: 'sources and, last, the target: ALIAS/bucket/key or local',
      kind: 'target-or-path',
      isVariadic: true,
    },
  ],
  options: [
    { flags: '-r, --recursive', summary: 'folders with everything in them' },
    { flags: '--preserve', summary: 'modification times travel along' },
    ...transferOptions,
  ],
  examples: ['svcctl mv report.pdf home/documents/', 'svcctl mv -r home/inbox/ home/archive/2026/'],
  run: (context, args, options) => copyAll(context, args, options, true),
})
