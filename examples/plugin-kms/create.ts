/** Creates the keyring of a new deployment: node examples/plugin-kms/create.ts <file>. Changes nothing where the file exists. */
import { createKeyringFile } from './keyring.ts'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('Usage: node examples/plugin-kms/create.ts <file>')
  process.exitCode = 2
} else createKeyringFile(path)
