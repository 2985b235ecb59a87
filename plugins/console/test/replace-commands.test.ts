/** The commands of the guide to replace a drive that is a folder do what they say, whether the folder is there or not. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { folderCommands } from '../web/src/pages/operate/replace-commands.ts'

const odd = "it's a $(touch drive);"
for (const { what, name = 'd1', isThere, isKnown } of [
  { what: 'one that works', isThere: true, isKnown: true },
  { what: 'one that is offline and there', isThere: true, isKnown: false },
  { what: 'one that is gone', isThere: false, isKnown: false },
  { what: 'one whose name has all that a shell knows', name: odd, isThere: true, isKnown: false },
]) {
  t.test(what, async t => {
    const parent = t.testdir()
    const folder = join(parent, name)
    if (isThere) {
      mkdirSync(folder)
      writeFileSync(join(folder, 'old'), '')
    }
    const commands = folderCommands(folder, isKnown).replace('USER', userInfo().username)
    execFileSync('sh', ['-e', '-c', commands])
    t.same(readdirSync(parent).sort(), isThere ? [name, `${name}.old`] : [name])
    t.same(readdirSync(folder), [], 'an empty folder')
    if (isThere) t.same(readdirSync(`${folder}.old`), ['old'])
  })
}
