import { defineCommand, parseDuration, parseSize } from '../command.ts'
import { createFailures } from '../failures.ts'
import { isoTime } from '../formatting.ts'
import { walk } from '../walking.ts'
import { parseDepth } from './du.ts'

interface Options {
  readonly name?: RegExp
  readonly path?: RegExp
  readonly ignore?: readonly RegExp[]
  readonly larger?: number
  readonly smaller?: number
  readonly olderThan?: number
  readonly newerThan?: number
  readonly maxdepth?: number
}

export default defineCommand<Options>({
  name: 'find',
  summary: 'Finds objects or files by name, size and age.',
  description:
    'All conditions must match. In patterns `*` matches any characters, `?` one; quote them, so that the shell does not expand them. ' +
    'Where nothing is found the exit code is 0.',
  arguments: [{ name: 'target', summary: 'ALIAS[/bucket[/prefix]] or folder', kind: 'target-or-path' }],
  options: [
    { flags: '--name <pattern>', summary: 'matches the name after the last slash', parse: parsePattern },
    { flags: '--path <pattern>', summary: 'of all that stands behind the target', parse: parsePattern },
    { flags: '--ignore <pattern>', summary: 'leave out such paths', parse: parsePattern, isRepeatable: true },
    { flags: '--larger <size>', summary: 'more than so many bytes, such as 64MiB', parse: parseSize },
    { flags: '--smaller <size>', summary: 'fewer than so many bytes', parse: parseSize },
    { flags: '--older-than <duration>', summary: 'last changed longer ago, such as 30d', parse: parseDuration },
    { flags: '--newer-than <duration>', summary: 'last changed less long ago', parse: parseDuration },
    { flags: '--maxdepth <levels>', summary: 'at most so many folders down', parse: parseDepth },
  ],
  examples: [
    "svcctl find home/photos --name '*.jpg' --larger 10MiB",
    'svcctl find home/logs --older-than 30d --json',
    "svcctl find ./photos --path '2026/*' --newer-than 1d",
  ],
  async run(context, [text], options) {
    const { output } = context
    const failures = createFailures(output)
    const { name, path, ignore = [], larger = -1, smaller = Number.POSITIVE_INFINITY, maxdepth } = options
    const nowMs = Date.now()
    const { olderThan = Number.NEGATIVE_INFINITY, newerThan = Number.POSITIVE_INFINITY } = options
    context.startCounting()
    for await (const { key, target, sizeBytes, modifiedMs, etag } of walk(context, text!, failures)) {
      output.progress.addFile()
      const ageMs = nowMs - modifiedMs
      if (sizeBytes <= larger || sizeBytes >= smaller || ageMs <= olderThan || ageMs >= newerThan) continue
      if (name?.test(key.slice(key.lastIndexOf('/') + 1)) === false || path?.test(key) === false) continue
      if (ignore.some(pattern => pattern.test(key))) continue
      if (maxdepth !== undefined && key.split('/').length - 1 > maxdepth) continue
      output.result({ type: 'object', target, key, size: sizeBytes, etag, modified: isoTime(modifiedMs) }, target)
      await output.drained()
    }
    output.progress.stop()
    failures.end()
  },
})

function parsePattern(text: string): RegExp {
  const parts = text.split(/(\*+|\?)/)
  const source = parts
    .map(part => (part.startsWith('*') ? '.*' : part === '?' ? '.' : part.replace(/[\\^$.|+()[\]{}/]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`, 'su')
}
