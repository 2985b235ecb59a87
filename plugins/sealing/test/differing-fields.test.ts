import t from 'tap'
import { differingFields } from '../api.ts'

t.test('names of fields that differ, two levels deep and never a value', t => {
  for (const [before, after, names] of [
    [{}, {}, []],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: 1 }, { a: 2, c: null }, ['a', 'c']],
    [{ a: 1 }, {}, ['a']],
    [{ b: { c: 1, d: [1] }, a: 1 }, { b: { c: 2, d: [2] }, a: 1 }, ['b.c', 'b.d']],
    [{ b: { c: { d: 1 } } }, { b: { c: { d: 2 } } }, ['b.c']],
    [{ b: { c: 1 } }, { b: [1] }, ['b']],
    [{ a: undefined }, {}, []],
    [JSON.parse('{"__proto__": 1}'), {}, ['__proto__']],
    [{}, JSON.parse('{"constructor": 1}'), ['constructor']],
    [undefined, { a: 1 }, []],
    [[1], [2], []],
  ] as const) {
    t.same(differingFields(before, after), names, JSON.stringify([before, after]))
  }
  t.end()
})
