/** Names that others have chosen: nothing of them is hidden, and they turn nothing around. */
import t from 'tap'
import { isPlain, piecesOf, shownText } from '../web/src/parts/shown-text.ts'
import { texts } from '../web/src/texts/index.ts'

t.test('characters without a shape are named', async t => {
  t.same(piecesOf('photo\u202egnp.exe'), ['photo', 'U+202E', 'gnp.exe'])
  t.equal(shownText('photo\u202egnp.exe'), 'photo[U+202E]gnp.exe')
  const hidden =
    '\0\x07\n\x7f\x85\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202d\u2060\u2066\u2069\ufeff\u{e0041}\ud800'
  for (const character of hidden) {
    const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    t.notOk(isPlain(`a${character}`), code)
    t.equal(shownText(`a${character}b`), `a[${code}]b`)
  }
})

t.test('what can be seen stays', async t => {
  for (const text of ['', 'a b.png', 'Käse', '写真', 'नमस्ते', '👩\u200d👧', '<b>', '€']) {
    t.equal(shownText(text), text)
    t.ok(isPlain(text))
  }
})

t.test('names from right to left are isolated in sentences', async t => {
  t.equal(shownText('תמונה'), '\u2068תמונה\u2069')
  t.equal(texts.objects.deleteTitle(1, 'תמונה'), 'Delete \u2068תמונה\u2069?')
  t.equal(texts.objects.deleteTitle(1, 'a\u202eb'), 'Delete a[U+202E]b?')
  t.equal(texts.objects.deleteTitle(1, 'a\u2069b'), 'Delete a[U+2069]b?', 'which ends no isolation')
})
