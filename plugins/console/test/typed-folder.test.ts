import t from 'tap'
import { typedFolder, typedPrefix } from '../web/src/parts/typed-folder.ts'

t.test('a folder is meant as keys are written, however it is typed', async t => {
  for (const [typed, folder] of [
    ['', ''],
    ['/', ''],
    ['//', ''],
    ['a', 'a/'],
    ['/a', 'a/'],
    ['/a/b//', 'a/b/'],
  ] as const) {
    t.equal(typedFolder(typed), folder, typed)
    t.equal(typedFolder(typed, 'c/d'), folder, typed)
  }
  t.equal(typedPrefix('/a'), 'a')
})

t.test('where keys begin with a slash, one stays where it is', async t => {
  for (const around of ['/a', '/', 'a//b']) {
    t.equal(typedFolder('/a', around), '/a/')
    t.equal(typedFolder('a//', around), 'a//')
    t.equal(typedFolder('', around), '')
  }
})
