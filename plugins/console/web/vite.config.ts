import { readFileSync } from 'node:fs'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { usedStyles } from './used-styles.ts'

const operationsFile = new URL('../../../contrib/svcctl/admin/operations.json', import.meta.url)
const virtualModule = 'virtual:operations'

/** `virtual:operations`: method and path of each served operation of the Admin API, from the document that is generated from them. */
function operations(): Plugin {
  return {
    name: 'operations',
    resolveId: id => (id === virtualModule ? `\0${virtualModule}` : undefined),
    load(id) {
      if (id !== `\0${virtualModule}`) return undefined
      const { paths } = JSON.parse(readFileSync(operationsFile, 'utf8')) as {
        paths: Record<string, Record<string, { operationId: string }>>
      }
      const entries = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => [operationId, [method.toUpperCase(), path]]),
      )
      return `export const routes = ${JSON.stringify(Object.fromEntries(entries))}`
    },
  }
}

/** Writes into the page what the server would write, for `npm run console:dev`; otherwise addresses below the first level would fail. */
const placed: Plugin = {
  name: 'placed',
  apply: 'serve',
  transformIndexHtml: { order: 'pre', handler: html => html.replace('{{base}}', '/') },
}

/** The server that `npm run console:dev` passes the API's requests to. */
const server = process.env.SVC_CONSOLE_URL ?? 'http://127.0.0.1:9001'

export default defineConfig({
  // The page says in its element `base` where the console is.
  base: './',
  plugins: [react(), operations(), usedStyles(), placed],
  // Packages that lie further up must not find the React of other tools.
  resolve: { dedupe: ['react', 'react-dom'] },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    manifest: 'manifest.json',
    chunkSizeWarningLimit: 900,
    modulePreload: { polyfill: false },
    // One file of what is loaded in any case costs a slow machine less than a dozen, which the bundler makes of what pages import, too.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'base', tags: ['$initial'] },
            // Nearly every page has a list: one file of its parts is less than three.
            { name: 'lists', test: /src\/parts\/(long-list|list-page|item-table)\.tsx$/ },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': { target: server, changeOrigin: true } } },
})
