import { type SeededRandom, seeded } from 'svc/testing'
import t from 'tap'
import { keyBytes } from '../bytes.ts'
import { ChangeSet, UndoLog } from '../changes.ts'
import { type MemtableWalk, packEntries, walkLayers, walkPacked } from '../memtable-walk.ts'
import { OrderedMap } from '../ordered-map.ts'

const byCodeUnits = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0)

/** Few enough to meet again, of bytes that are letters in no encoding but this one. */
const randomKey = (random: SeededRandom, count: number) =>
  `k\xff${String.fromCharCode(random.integer(256))}${random.integer(count)}`

t.test('keys come in order, whatever came and went between two walks', t =>
  seeded(t, random => {
    for (const count of [1, 20, 400]) {
      const map = new OrderedMap<number>()
      let checks = 0
      for (let round = 0; round < 120; round++) {
        for (let change = random.integer(random.integer(20) === 0 ? 2000 : 12); change > 0; change--) {
          const key = randomKey(random, count)
          if (random.integer(60) === 0) map.delete(key)
          else map.set(key, round)
        }
        if (random.integer(300) === 0) map.clear()
        const [sorted, fresh] = map.orderedKeys()
        const all = [...map.keys()].sort(byCodeUnits)
        if ([...sorted, ...fresh].sort(byCodeUnits).join() !== all.join()) t.fail(`keys of round ${round}`)
        for (const keys of [sorted, fresh]) {
          if (keys.some((key, at) => at > 0 && keys[at - 1]! >= key)) t.fail(`the order of round ${round}`)
          checks += keys.length
        }
      }
      t.ok(checks > 0, `${checks} keys were in order`)
    }
  }),
)

function takeAll(walk: MemtableWalk): string[] {
  const taken: string[] = []
  for (; walk.key !== undefined; walk.next()) taken.push(`${walk.key.latin1Slice()}=${walk.value ?? 'deleted'}`)
  return taken
}

t.test('a walk over layers tells each key of its range once, as the newest layer has it', t =>
  seeded(t, random => {
    const layers = [new ChangeSet(), undefined, new ChangeSet(), new ChangeSet()]
    let found = 0
    for (let round = 0; round < 150; round++) {
      for (const layer of layers) {
        if (layer === undefined) continue
        const undo = new UndoLog()
        for (let change = random.integer(30); change > 0; change--) {
          const value = random.integer(4) === 0 ? null : Buffer.from(`${round}-${change}`)
          undo.set(layer.records, randomKey(random, 3), value)
        }
        if (random.integer(5) === 0) undo.rollBack()
      }
      // As after a checkpoint.
      if (random.integer(20) === 0) layers[random.integer(2) * 2] = new ChangeSet()
      const [start, end] = [randomKey(random, 3), randomKey(random, 3)].sort(byCodeUnits) as [string, string]
      const newest = new Map(layers.flatMap(layer => [...(layer?.records ?? [])]))
      const wanted = [...newest]
        .filter(([key]) => key >= start && key < end)
        .sort(([left], [right]) => byCodeUnits(left, right))
        .map(([key, value]) => `${key}=${value ?? 'deleted'}`)
      const walk = () => walkLayers('records', layers, keyBytes(start), keyBytes(end))
      const packed = packEntries(walk())
      const target = randomKey(random, 3)
      const behind = wanted.filter(entry => byCodeUnits(entry.slice(0, entry.lastIndexOf('=')), target) >= 0)
      for (const again of [walk(), walkPacked(packed)]) {
        if (takeAll(again).join() !== wanted.join()) t.fail(`round ${round}`)
        again.seek(keyBytes(target))
        if (takeAll(again).join() !== behind.join()) t.fail(`round ${round}, from ${target}`)
        again.seek(keyBytes(''))
        if (takeAll(again).join() !== wanted.join()) t.fail(`round ${round}, once more`)
      }
      found += wanted.length
    }
    t.ok(found > 500, `${found} entries`)
    t.same(takeAll(walkLayers('derived', layers, keyBytes(''), keyBytes('\xff'))), [], 'where there is nothing')
  }),
)
