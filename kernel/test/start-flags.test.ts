/** What V8 optimizes: nothing while the program starts, from then on what runs often. */
import { spawnSync } from 'node:child_process'
import t from 'tap'

const program = `
  import { endStart, setFlagsOfStart } from ${JSON.stringify(new URL('../program/start-flags.ts', import.meta.url).href)}
  const run = () => {
    let sum = 0
    function often(number) { return sum + number * 2 }
    for (let number = 0; number < 1_000_000; number++) sum = often(number) % 1000
    return often
  }
  const isOptimized = often => [%ActiveTierIsMaglev(often), %ActiveTierIsTurbofan(often)].includes(true)
  setFlagsOfStart()
  const during = isOptimized(run())
  endStart()
  console.log(JSON.stringify({ during, after: isOptimized(run()) }))
`

t.test('what runs often in a start is not optimized', t => {
  // On this thread: whether another one is done with it by then depends on the machine.
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--input-type=module']
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' })
  t.same(JSON.parse(stdout), { during: false, after: true }, stderr)
  t.end()
})
