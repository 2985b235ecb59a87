/** Drives of each release open in this one as they are: everything that clients saw then is there now, also after a write and a restart. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CompleteMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { differences, type Picture, takePicture } from './picture.ts'
import { bucketNames, drivesOf, shapes } from './shapes.ts'

const [plain] = bucketNames
const releases = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)
t.ok(releases.includes('0.1.0'))

for (const release of releases) {
  for (const shape of shapes) {
    t.test(`${shape.name} of ${release}`, async t => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-golden-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const file = (type: string) => join(import.meta.dirname, release, `${shape.name}.${type}`)
      execFileSync('tar', ['--extract', '--gzip', '--file', file('tar.gz'), '--directory', folder])
      const manifest = JSON.parse(readFileSync(file('json'), 'utf8')) as Picture
      const server = await startServer({ drives: drivesOf(shape, folder), environment: shape.environment })
      t.teardown(() => server.remove())
      const picture = () =>
        takePicture(credentials => createClient(server, credentials && { credentials }), createAdminClient(server))
      t.strictSame(differences(await picture(), manifest), [], 'at the first start')

      let s3 = createClient(server)
      // A bucket without versions: its key is written and removed by every run alike.
      const place = { Bucket: plain, Key: 'written-now' }
      await s3.send(new PutObjectCommand({ ...place, Body: 'now' }))
      s3.destroy()
      t.equal(await server.stop(), 0)
      await server.start()
      s3 = createClient(server)
      const { Body } = await s3.send(new GetObjectCommand(place))
      t.equal(await Body!.transformToString(), 'now')
      await s3.send(new DeleteObjectCommand(place))
      t.strictSame(differences(await picture(), manifest), [], 'after a write and a restart')

      // The upload that was in progress can be completed.
      type Upload = {
        upload: { Key: string; UploadId: string }
        parts: { Parts: { ETag: string; PartNumber: number }[] }
      }
      const { uploads } = (manifest.buckets as Record<string, { uploads: readonly Upload[] }>)[plain]!
      t.ok(uploads.length > 0)
      for (const { upload, parts } of uploads) {
        const { Key, UploadId } = upload
        const Parts = parts.Parts.map(({ ETag, PartNumber }) => ({ ETag, PartNumber }))
        const all = { Bucket: plain, Key, UploadId, MultipartUpload: { Parts } }
        await s3.send(new CompleteMultipartUploadCommand(all))
        const { ContentLength } = await s3.send(new HeadObjectCommand({ Bucket: plain, Key }))
        t.ok(ContentLength! > 0, Key)
      }
      s3.destroy()
      t.equal(await server.stop(), 0)
    })
  }
}
