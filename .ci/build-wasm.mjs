/**
 * Makes the WebAssembly of the tree from its text: each `<name>.wat.mjs` becomes `<name>.wat` (to read), `<name>.wasm` and, where
 * relaxed instructions make a difference, `<name>-relaxed.wasm`. The results are committed, so that neither a checkout nor a
 * package needs a build; with `--check` nothing is written, and a result that differs from what is committed is a failure.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import createWabt from 'wabt'

const root = resolve(import.meta.dirname, '..')
/** Modules that packages of contrib/ have too: they load nothing of plugins. */
const copies = { 'crc64-nvme.wasm': ['contrib/svcctl/checksums/crc64-nvme.wasm'] }
const isCheck = process.argv.includes('--check')
const wabt = await createWabt()

function assemble(name, text) {
  const module = wabt.parseWat(name, text, { simd: true, relaxed_simd: true })
  try {
    module.validate()
    return Buffer.from(module.toBinary({ write_debug_names: false }).buffer)
  } finally {
    module.destroy()
  }
}

let isCurrent = true
for (const source of globSync('{kernel,plugins}/**/*.wat.mjs', { cwd: root })) {
  const { moduleText } = await import(pathToFileURL(join(root, source)).href)
  const base = source.slice(0, -'.wat.mjs'.length)
  const text = moduleText({ relaxed: false })
  const results = [
    [`${base}.wat`, Buffer.from(text)],
    [`${base}.wasm`, assemble(`${base}.wat`, text)],
  ]
  const relaxed = moduleText({ relaxed: true })
  if (relaxed !== text) results.push([`${base}-relaxed.wasm`, assemble(`${base}-relaxed.wat`, relaxed)])
  for (const [path, bytes] of [...results]) {
    for (const copy of copies[basename(path)] ?? []) results.push([copy, bytes])
  }
  for (const [path, bytes] of results) {
    const file = join(root, path)
    if (existsSync(file) && readFileSync(file).equals(bytes)) continue
    isCurrent = false
    if (!isCheck) writeFileSync(file, bytes)
    console.log(`${path}: ${isCheck ? 'differs from what its source makes' : `${bytes.length} bytes`}`)
  }
}
if (isCheck && !isCurrent) process.exit(1)
