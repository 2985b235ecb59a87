import { lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { formatBytes } from '../formatting.ts'
import { compareKeys, listBuckets, listObjects } from '../s3/listing.ts'
import { folderPrefix, formatRemote, type RemoteTarget } from '../target.ts'
import { objectItself, statPlace } from '../walking.ts'
import { parseDepth } from './du.ts'

interface Options {
  readonly files?: boolean
  readonly depth: number
}

/** A folder, or one of its entries. */
interface Node {
  readonly name: string
  readonly target: string
  /** Undefined: it is a folder. */
  readonly sizeBytes: number | undefined
  children(): AsyncIterable<Node>
}

export default defineCommand<Options>({
  name: 'tree',
  summary: 'Draws the folders below a bucket, a prefix or a folder.',
  arguments: [{ name: 'target', summary: 'ALIAS[/bucket[/prefix]] or folder', kind: 'target-or-path' }],
  options: [
    { flags: '-f, --files', summary: 'with the objects or files, and their sizes' },
    {
      flags: '-d, --depth <levels>',
      summary: 'so many levels down (default: all)',
      parse: parseDepth,
      default: Number.POSITIVE_INFINITY,
    },
  ],
  examples: ['svcctl tree home/photos', 'svcctl tree --files --depth 2 home'],
  async run(context, [text], { files = false, depth }) {
    const { output } = context
    const target = await context.target(text!)
    if (target.kind === 'stream') throw usageError('Standard streams have no folders.')
    if (target.kind === 'local') await statPlace(context, target.path)
    const root =
      target.kind === 'local' ? localNode(context, target.path, target.path) : await remoteNode(context, target)
    context.startCounting()
    let isHeadless = true
    const begin = () => {
      if (isHeadless) output.result({ type: 'folder', target: root.target, depth: 0 }, root.target)
      isHeadless = false
    }
    let isEmpty = true
    async function draw(parent: Node, indent: string, level: number): Promise<void> {
      if (level > depth) return
      let pending: Node | undefined
      const show = async (node: Node, isLast: boolean) => {
        begin()
        const { name, target, sizeBytes } = node
        const shown = sizeBytes === undefined ? name : `${name} (${formatBytes(sizeBytes)})`
        const type = sizeBytes === undefined ? 'folder' : 'object'
        output.result({ type, target, depth: level, size: sizeBytes }, `${indent}${isLast ? '└─ ' : '├─ '}${shown}`)
        await output.drained()
        if (sizeBytes === undefined) await draw(node, `${indent}${isLast ? '   ' : '│  '}`, level + 1)
      }
      for await (const node of parent.children()) {
        output.progress.addFile()
        isEmpty = false
        if (node.sizeBytes !== undefined && !files) continue
        // Which one is the last is known when there is none behind it.
        if (pending !== undefined) await show(pending, false)
        pending = node
      }
      if (pending !== undefined) await show(pending, true)
    }
    await draw(root, '', 1)
    if (isEmpty && depth > 0 && target.kind === 'remote' && target.key !== '') await objectItself(context, target)
    begin()
    output.progress.stop()
  },
})

const leaf = (name: string, target: string, sizeBytes: number): Node => ({
  name,
  target,
  sizeBytes,
  async *children() {},
})

function localNode(context: Context, name: string, path: string): Node {
  return {
    name,
    target: path,
    sizeBytes: undefined,
    async *children() {
      const entries = await readdir(context.path(path), { withFileTypes: true })
      entries.sort((a, b) => compareKeys(a.name, b.name))
      for (const entry of entries) {
        const inner = join(path, entry.name)
        if (entry.isDirectory()) yield localNode(context, entry.name, inner)
        else if (entry.isFile()) {
          const found = lstatSync(context.path(inner), { throwIfNoEntry: false })
          if (found !== undefined) yield leaf(entry.name, inner, found.size)
        }
      }
    },
  }
}

async function remoteNode(context: Context, target: RemoteTarget): Promise<Node> {
  const client = await context.connect(target.alias)
  const folder = (name: string, place: RemoteTarget): Node => ({
    name,
    target: formatRemote(place),
    sizeBytes: undefined,
    async *children() {
      const { bucket } = place
      if (bucket === '') {
        for (const { name } of await listBuckets(client)) yield folder(name, { ...place, bucket: name })
        return
      }
      const prefix = folderPrefix(place.key)
      for await (const { items, prefixes } of listObjects(client, { bucket, prefix, delimiter: '/' })) {
        const folders = prefixes.map(key => ({ key, sizeBytes: undefined }))
        for (const { key, sizeBytes } of [...items, ...folders].sort((a, b) => compareKeys(a.key, b.key))) {
          const name = key.slice(prefix.length)
          const inner = { ...place, key }
          if (sizeBytes === undefined) yield folder(name.slice(0, -1), inner)
          // The object that represents the folder itself is not listed.
          else if (name !== '') yield leaf(name, formatRemote(inner), sizeBytes)
        }
      }
    },
  })
  return folder('', target)
}
