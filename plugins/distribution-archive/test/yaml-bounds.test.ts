/** Text that would take seconds to compose is refused before it is. */
import { createRequire } from 'node:module'
import t from 'tap'
import { placesMax, readYaml } from '../yaml-text.ts'

const { Parser } = createRequire(import.meta.url)('yaml') as typeof import('yaml')

t.test('a text with too many lines, keys and list items is not parsed', t => {
  const parsed = t.capture(Parser.prototype, 'parse', Parser.prototype.parse)
  const repeated = (text: string) => text.repeat(Math.floor(1_000_000 / text.length))
  const texts = [
    repeated('? a\n'),
    repeated('? a\r\n'),
    Array.from({ length: 80_000 }, (_, index) => `k${index}: v\n`).join(''),
    `[${repeated('a,')}a]`,
    `[${repeated('{},')}a]`,
    `[${repeated('a: b,')}a]`,
    repeated('a: '),
    repeated('#x\n'),
    repeated('\n'),
    repeated('---\n'),
    repeated(`${'- '.repeat(60)}\n`),
    `a: >\n${repeated(' x\n')}`.slice(0, 1_000_000),
    `[${repeated('&a b,')}a]`,
    `[${repeated('!!a b,')}a]`,
    `${repeated('%TAG !a! tag:x\n')}---\na: 1`.slice(0, 1_000_000),
    JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ kind: 'x', name: `${index}` }))),
  ]
  for (const text of texts) {
    const { documents, problems } = readYaml(text)
    t.same(documents, [])
    const message = `has more than ${placesMax} lines, keys and list items, all together: divide it into files`
    t.match(problems, [{ message: new RegExp(`^${message}`), column: 1 }])
  }
  t.same(parsed(), [])
  const { problems } = readYaml('? a\n'.repeat(240_000))
  t.equal(problems[0].line, placesMax / 2 + 1)
  t.end()
})

t.test('a text within the bound is read, whatever its size', t => {
  const long = readYaml(`a: "${'x-?:!&*'.repeat(100_000)}"\n`)
  t.same(long.problems, [])
  t.equal(long.documents.length, 1)
  const many = readYaml(Array.from({ length: 29_000 }, (_, index) => `k${index}: v\n`).join(''))
  t.same(many.problems, [])
  t.equal(Object.keys(many.documents[0].value as object).length, 29_000)
  t.end()
})
