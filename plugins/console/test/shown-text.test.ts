/** Names that others have chosen: nothing of them is hidden, and they turn nothing around. */
import t from 'tap'
import { isPlain, piecesOf, shownJson, shownLines, shownText } from '../web/src/parts/shown-text.ts'
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

t.test('what has no shape is named, unless it shapes an emoji or a letter that needs it', t => {
  for (const hidden of ['\u034f', '\ufe0f', '\u200d', '\u3164', '\u2800', '\u{e0101}'])
    t.match(shownText(`secret${hidden}.txt`), /^secret\[U\+[0-9A-F]+\]\.txt$/, JSON.stringify(hidden))
  for (const whole of ['❤\ufe0f', '👩\u200d💻', '1\ufe0f\u20e3', '葛\u{e0101}', 'क\u200dष'])
    t.equal(shownText(whole), whole, JSON.stringify(whole))
  t.end()
})

t.test('whole texts and JSON', t => {
  t.equal(shownLines('a\tb\r\nc\u202ed'), 'a\tb\r\nc[U+202E]d')
  const value = { path: 'a\u202eb\u{e0041}', lines: ['x'] }
  t.match(shownJson(value), '"a\\u202eb\\udb40\\udc41"')
  t.same(JSON.parse(shownJson(value)), value)
  t.end()
})
