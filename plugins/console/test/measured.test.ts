import t from 'tap'
import { shownOf } from '../web/src/pages/overview/measured.ts'

const measured = (values: readonly (number | null)[], isTold = true) => ({
  lines: [{ label: 'one', points: values.map((value, index) => [index * 10, value] as const) }],
  isTold,
})

t.test('a measured zero is told apart from what was not measured yet', async t => {
  const isIdleAtZero = true
  for (const [what, given, kind, expected] of [
    ['values', measured([null, 2]), {}, 'lines'],
    ['no request since the start', measured([null, null]), {}, 'idle'],
    ['just started', measured([null, null], false), {}, 'unmeasured'],
    ['no error', measured([0, 0]), {}, 'lines'],
    ['nothing stored', measured([0, 0]), { isIdleAtZero, now: 0 }, 'idle'],
    ['of whom it is not known what there is now', measured([0, 0]), { isIdleAtZero }, 'idle'],
    ['stored after the last measurement', measured([null, 0]), { isIdleAtZero, now: 4 }, 'unmeasured'],
    ['of what cannot be measured', measured([null, null]), { isIdleAtZero }, 'unmeasured'],
    ['empty, and just started', measured([0], false), { isIdleAtZero, now: 0 }, 'unmeasured'],
    ['stored before', measured([3, 0]), { isIdleAtZero, now: 0 }, 'lines'],
    ['no line', { lines: [], isTold: true }, {}, 'idle'],
  ] as const) {
    t.equal(shownOf(given, kind), expected, what)
  }
})
