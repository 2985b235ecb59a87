import { defineCommand } from '../command.ts'
import { type CopyOptions, copyAll, transferOptions } from '../copying.ts'

export default defineCommand<CopyOptions>({
  name: 'cp',
  summary: 'Copies files and objects: up, down, and from server to server.',
  description:
    'With -r, everything below the source goes below the target. A target that is a bucket, a folder, or ends at a slash takes the ' +
    'name of the source. An interrupted transfer of a large file goes on when the same command is run again. With --sse a bucket, prefix or ' +
    'object may be its own target: each object is encrypted anew, where it is.',
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
    { flags: '--version-id <id>', summary: 'of the source: this version' },
    ...transferOptions,
  ],
  examples: [
    'svcctl cp film.mkv home/videos/',
    'svcctl cp -r home/photos/2026 ./2026',
    'pg_dump app | svcctl cp - home/backups/app.sql',
    'svcctl cp -r home/photos offsite/photos',
    'svcctl cp --sse kms:photos film.mkv home/videos/',
    'svcctl cp --sse-c key.b64 letter.txt home/private/',
    'svcctl cp -r --sse s3 home/papers home/papers',
  ],
  run: (context, args, options) => copyAll(context, args, options, false),
})
