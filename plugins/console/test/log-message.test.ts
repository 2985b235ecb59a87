import t from 'tap'
import { messageOf } from '../web/src/pages/operate/log-message.ts'

t.test('the reason follows the message, whether that is a sentence or not', async t => {
  t.equal(messageOf('A blob could not be written.', 'ENOENT'), 'A blob could not be written: ENOENT')
  t.equal(messageOf('a drive has failed', 'EIO'), 'a drive has failed: EIO')
  t.equal(
    messageOf('it failed', 'A blob could not be written.: ENOENT.'),
    'it failed: A blob could not be written: ENOENT.',
  )
  t.equal(messageOf('Ready.', undefined), 'Ready.')
})
