/**
 * Leaves out of Mantine's style sheet the rules of components that nobody imports: more than a third of what a first visit would load. Which
 * classes a component has stand in the package's own modules (`Badge.module.mjs`), so a component brings its styles along as soon as it is
 * imported. Decided from the sources, before the style sheet gets the name that its content gives it.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'postcss'
import type { Plugin } from 'vite'

const packages = join(import.meta.dirname, 'node_modules/@mantine')
const core = join(packages, 'core/esm')
/** Who imports components: the console, and what of Mantine is built from them. */
const importers = [join(import.meta.dirname, 'src/**/*.{ts,tsx}'), join(packages, 'notifications/esm/**/*.mjs')]

const namedImports = /import\s+(?:type\s+)?\{([^}]*)\}\s+from\s+["']@mantine\/core["']/g
const relativeImports = /import\s+(?:\{([^}]*)\}|\w+)\s+from\s+"(\.[^"]*)"/g
const classForm = /m_[0-9a-f]+/g

const namesIn = (list = '') =>
  list.split(',').map(
    name =>
      name
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s+as\s+/)[0] ?? '',
  )

function importedNames(): Set<string> {
  const names = new Set<string>()
  for (const path of importers.flatMap(pattern => globSync(pattern))) {
    for (const [, list] of readFileSync(path, 'utf8').matchAll(namedImports))
      for (const name of namesIn(list)) names.add(name)
  }
  return names
}

/** Classes of the imported components, and of the components of which these are made. */
export function usedClasses(): Set<string> {
  const wanted = importedNames()
  const classes = new Set<string>()
  const index = readFileSync(join(core, 'index.mjs'), 'utf8')
  const modules = [...index.matchAll(relativeImports)].flatMap(([, list, path]) =>
    namesIn(list).some(name => wanted.has(name)) ? [join(core, path!)] : [],
  )
  const seen = new Set(modules)
  for (const module of seen) {
    const code = readFileSync(module, 'utf8')
    if (module.endsWith('.module.mjs')) for (const [name] of code.matchAll(classForm)) classes.add(name)
    for (const [, , path] of code.matchAll(relativeImports)) seen.add(join(dirname(module), path!))
  }
  return classes
}

/** The style sheet without rules that need one of the other classes. */
export function withoutUnused(css: string, used: ReadonlySet<string>): string {
  const root = parse(css)
  root.walkRules(rule => {
    const kept = rule.selectors.filter(selector => (selector.match(classForm) ?? []).every(name => used.has(name)))
    if (kept.length === 0) rule.remove()
    else if (kept.length < rule.selectors.length) rule.selectors = kept
  })
  root.walkAtRules(rule => {
    if (rule.nodes?.length === 0) rule.remove()
  })
  return root.toString()
}

export function usedStyles(): Plugin {
  return {
    name: 'used-styles',
    apply: 'build',
    enforce: 'pre',
    transform(code, id) {
      return id.endsWith('/@mantine/core/styles.css')
        ? { code: withoutUnused(code, usedClasses()), map: null }
        : undefined
    },
  }
}
