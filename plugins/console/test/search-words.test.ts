/** What a search finds by names, and by what settings are said to do. */
import t from 'tap'
import { isAbout, matches } from '../web/src/app/search-words.ts'

const sentences = 'Pause between two scrubs of the drives (`deep_cycle`): each reads everything.'

t.test('names are found by any part, in any order', async t => {
  t.equal(matches('deep_cycle', 'cycle'), true)
  t.equal(matches('Rotate key', 'key rot'), true)
  t.equal(matches('Rotate key', 'key lock'), false)
})

t.test('sentences are found by beginnings of words, and not by such as all have', async t => {
  const isFound = (text: string) => isAbout(sentences, text)
  t.same(['scrub', 'scrubs', 'drives scrub', 'of the drives', 'deep_cycle', 'CYCLE'].filter(isFound).length, 6)
  t.same(['of the', 'the', 'two', '', '…'].filter(isFound), [])
  t.same(['rubs', 'rive', 'tween scrubs', 'scrub lock'].filter(isFound), [], 'in the middle of words')
})
