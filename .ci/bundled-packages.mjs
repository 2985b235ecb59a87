/** What bundles need for the packages inside them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** Packages that are CommonJS ask for modules of Node.js by `require`. */
export const requireForBundled =
  "import { createRequire as createBundledRequire } from 'node:module';\nconst require = createBundledRequire(import.meta.url);"

/**
 * An `import` of `node:http` reads all its exports, those too that Node.js makes when they are first read: for its WebSocket it loads a client of
 * HTTP of its own, 14 MB in each thread. In a bundle the module is asked for as an object, and named are only exports that are there.
 */
export const httpAsObject = {
  name: 'http-as-object',
  setup({ onLoad, onResolve }) {
    const namespace = 'builtin'
    onResolve({ filter: /^node:http$/ }, ({ kind, path }) =>
      kind === 'import-statement' ? { path, namespace } : undefined,
    )
    onLoad({ filter: /^/, namespace }, ({ path }) => {
      const properties = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(path)))
      const names = properties.filter(([, property]) => 'value' in property).map(([name]) => name)
      const module = `process.getBuiltinModule(${JSON.stringify(path)})`
      return { contents: `const http = ${module};export default http;export const { ${names.join(', ')} } = http;` }
    })
  },
}

/**
 * Packages ask for these when they start or in functions that the server does not call, and a chunk keeps its whole text in memory:
 * compilers for the schemas of routes (`plugins/http/application.ts` names its own), requests to Fastify without a network, and a search
 * for files. They stay packages, loaded by whoever calls them after all.
 */
export const whatNobodyCalls = {
  name: 'what-nobody-calls',
  setup({ onLoad, onResolve }) {
    const namespace = 'first-use'
    const packages = /^(@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|light-my-request|glob)$/
    onResolve({ filter: packages }, ({ kind, path, importer }) =>
      kind === 'require-call' ? { path, namespace, pluginData: importer } : undefined,
    )
    onLoad({ filter: /^/, namespace }, ({ path, pluginData: importer }) => {
      const [owner] = /(@[^/]+\/)?[^/]+/.exec(importer.split('node_modules/').at(-1))
      const load = `require('node:module').createRequire(require.resolve('${owner}'))('${path}')`
      const contents = path === 'glob' ? `exports.glob=(...given)=>${load}.glob(...given)` : `module.exports=${load}`
      return { contents }
    })
  },
}

/** Of all packages that the given files belong to. One without a license file names its license; throws where it does neither. */
export function licensesOf(inputs) {
  const folders = new Set(inputs.filter(path => path.includes('node_modules/')).map(packageFolder))
  const texts = [...folders].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry))
    if (file === undefined && license === undefined) throw new Error(`${name} names no license`)
    return `${name} ${version}\n\n${file === undefined ? license : readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

function packageFolder(path) {
  let folder = dirname(join(root, path))
  while (!existsSync(join(folder, 'package.json')) || !/node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)) {
    folder = dirname(folder)
  }
  return folder
}
