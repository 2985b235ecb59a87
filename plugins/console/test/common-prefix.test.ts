/** What keys that go up have in common is asked of the server, which may keep them in another form of Unicode. */
import t from 'tap'
import { commonPrefix } from '../web/src/parts/uploads/common-prefix.ts'

t.test('the keys as they are kept begin with it', async t => {
  for (const names of [
    ['f/사진1.jpg', 'f/사진2.jpg'],
    ['가', '각'],
    ['회의1', '회의2'],
    ['Apfel', 'Äpfel'],
    ['über/a', 'über/b'],
    ['a😀', 'a😁'],
    ['ế1', 'ề1'],
  ]) {
    for (const form of ['NFC', 'NFD'] as const) {
      const keys = names.map(name => name.normalize(form))
      const prefix = commonPrefix(keys)
      const kept = keys.map(key => key.normalize('NFC'))
      t.ok(
        kept.every(key => key.startsWith(prefix.normalize('NFC'))),
        `${names.join(', ')} in ${form}: “${prefix}”`,
      )
    }
  }
})

t.test('it is as long as it can be where nothing can be put together', async t => {
  t.equal(commonPrefix(['f/사진1.jpg', 'f/사진2.jpg'].map(name => name.normalize('NFD'))), 'f/')
  t.equal(commonPrefix(['photos/IMG_1.jpg', 'photos/IMG_2.jpg']), 'photos/IMG')
  t.equal(commonPrefix(['photos/a', 'photos/b']), 'photos/')
  t.equal(commonPrefix(['only one']), 'only one')
})
