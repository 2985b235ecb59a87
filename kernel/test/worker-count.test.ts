import t from 'tap'
import { workerCountFor } from '../program/settings.ts'

t.test('there is no worker, or more than one, and a processor for each beside that of the main thread', async t => {
  t.same([1, 2, 3, 4, 64].map(workerCountFor), [0, 0, 2, 3, 63])
})
