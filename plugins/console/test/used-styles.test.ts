/** The style sheet of the built console against its scripts. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withoutUnused } from '../web/used-styles.ts'

const web = join(import.meta.dirname, '../web')
const textOf = (pattern: string) =>
  globSync(join(web, pattern))
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
const classesIn = (text: string) => new Set(text.match(/\bm_[0-9a-f]{6,}/g))

t.test('every class of a component that the scripts name keeps its rules, and most others have none', t => {
  const named = classesIn(textOf('dist/assets/*.js'))
  const whole = classesIn(readFileSync(join(web, 'node_modules/@mantine/core/styles.css'), 'utf8'))
  const kept = classesIn(textOf('dist/assets/*.css'))
  t.ok(named.size > 100)
  t.same(
    [...named].filter(name => whole.has(name) && !kept.has(name)),
    [],
  )
  t.ok(kept.size < 0.7 * whole.size, `${kept.size} of ${whole.size}`)
  t.end()
})

t.test('a rule stays for those of its selectors that are used', t => {
  const css = '.m_aa:hover,.m_bb>.m_aa{color:red}.m_bb{top:0}@media print{.m_bb{top:1px}}:root{--x:1}'
  t.equal(withoutUnused(css, new Set(['m_aa'])).replaceAll(/\s/g, ''), '.m_aa:hover{color:red}:root{--x:1}')
  t.end()
})
