/** The tier `disk` keeps the contract of tiers. */
import { readFile, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheTierContract } from 'svc/plugins/cache/contract'
import t from 'tap'
import { recordFiles, storedBytes, temporaryFolder, tierIn } from './tier.ts'

t.test('the tier keeps the contract', t =>
  cacheTierContract(t, async t => {
    const dir = join(await temporaryFolder(t), 'cache')
    return {
      open: budgetBytes => tierIn(dir, budgetBytes),
      keepsRecords: true,
      storedBytes: () => storedBytes(dir),
      async damage(random) {
        for (const file of await recordFiles(dir)) {
          const bytes = await readFile(file)
          const how = random.integer(4)
          if (how === 0) await truncate(file, random.integer(bytes.length))
          else if (how === 1) await unlink(file)
          else if (how === 2) await writeFile(file, random.bytes(bytes.length))
          else {
            const at = random.integer(bytes.length)
            bytes[at] = (bytes[at] as number) ^ (1 << random.integer(8))
            await writeFile(file, bytes)
          }
        }
      },
    }
  }),
)
