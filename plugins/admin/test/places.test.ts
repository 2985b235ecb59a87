/** Places for streams and large requests: one table for all threads, a share for each user, some for root alone. */
import type { Threads } from 'svc/kernel'
import t from 'tap'
import { bulkLimits, createPlaces, streamLimits } from '../places.ts'

const caller = (accessKey: string, userName?: string) => ({
  accessKey,
  isRoot: false,
  ...(userName !== undefined && { userName }),
})
const root = { accessKey: 'admin', isRoot: true }

/** Threads of one process, each with its places. */
async function startThreads(count: number) {
  const handlers = new Map<string, () => unknown>()
  const exits: ((index: number) => void)[] = []
  const all = Array.from({ length: count }, (_, index) => {
    const threads = {
      index,
      workerCount: count - 1,
      isMain: index === 0,
      handle: (name: string, handler: () => unknown) => void (index === 0 && handlers.set(name, handler)),
      call: async (_target: number, name: string) => handlers.get(name)!(),
      onExit: (listener: (index: number) => void) => void exits.push(listener),
    }
    const places = createPlaces(threads as unknown as Threads)
    places.declare(
      new Map([
        ['trace', streamLimits],
        ['logs', streamLimits],
        ['deleteObjects', bulkLimits],
      ]),
    )
    return places
  })
  for (const places of all) await places.start()
  return { all, exit: (index: number) => exits[0]!(index) }
}

const { max, perUser, ofRoot } = streamLimits
const refused = { code: 'too_many_requests', status: 429 }

t.test('a user has a share, with all access keys and in all threads', async t => {
  const { all } = await startThreads(3)
  const leaves = Array.from({ length: perUser }, (_, n) => all[n % 3]!.take('trace', caller(`KEY${n}`, 'ada')))
  for (const places of all) t.throws(() => places.take('trace', caller('ada')), refused)
  all[0]!.take('logs', caller('ada'))
  all[1]!.take('trace', caller('bob'))
  leaves[4]!()
  all[2]!.take('trace', caller('ada'))
  t.throws(() => all[0]!.take('trace', caller('KEY', 'ada')), refused)
})

t.test('users never take the places of root', async t => {
  const { all } = await startThreads(2)
  const usersMax = max - ofRoot
  for (let n = 0; n < usersMax; n++) all[n % 2]!.take('trace', caller(`user${n % 100}`))
  t.throws(() => all[0]!.take('trace', caller('user100')), refused)
  const leaves = Array.from({ length: ofRoot }, (_, n) => all[n % 2]!.take('trace', root))
  t.throws(() => all[1]!.take('trace', root), refused, 'and there are no more than all')
  leaves[0]!()
  all[1]!.take('trace', root)
})

t.test('a thread that dies gives its places back', async t => {
  const { all, exit } = await startThreads(3)
  for (let n = 0; n < max; n++) all[1]!.take('trace', root)
  t.throws(() => all[2]!.take('trace', root), refused)
  exit(1)
  for (let n = 0; n < max; n++) all[2]!.take('trace', root)
  t.throws(() => all[0]!.take('trace', root), refused)
})

t.test('each kind has its own limits and its own words', async t => {
  const { all } = await startThreads(2)
  for (let n = 0; n < bulkLimits.perUser; n++) all[n % 2]!.take('deleteObjects', caller('ada'))
  t.throws(() => all[0]!.take('deleteObjects', caller('ada')), {
    ...refused,
    message: 'You already have 8 such requests on this node.',
  })
  for (let n = 0; n < bulkLimits.max - bulkLimits.ofRoot - bulkLimits.perUser; n++) {
    all[n % 2]!.take('deleteObjects', caller(`user${n}`))
  }
  t.throws(() => all[1]!.take('deleteObjects', caller('bob')), {
    ...refused,
    message: 'This node already has 56 such requests of users.',
  })
  for (let n = 0; n < bulkLimits.ofRoot; n++) all[n % 2]!.take('deleteObjects', root)
  t.throws(() => all[1]!.take('deleteObjects', root), refused)
  all[0]!.take('trace', caller('ada'))
})
