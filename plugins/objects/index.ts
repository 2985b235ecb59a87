/** Wires the plugin `objects`: defines procedures and derivations in the storage, and provides the service `objects`. */
import { definePlugin } from 'svc/kernel'
import { recordTable as table } from 'svc/plugins/storage/api'
import { Type } from 'typebox'
import type { ObjectTransform } from './api.ts'
import { createProcedures } from './commit.ts'
import { deriveObjectDue, deriveUploadDue } from './due.ts'
import { createObjectEvents, type ObjectObserver } from './events.ts'
import { createObjects } from './objects.ts'
import { objectsPoints } from './points.ts'
import { deriveObjectUsage, derivePartUsage, deriveUploadUsage } from './usage.ts'

export default definePlugin({
  name: 'objects',
  description: 'Buckets, objects and their versions: the rules of S3 about data.',
  requires: ['storage', 'checksums'],
  provides: ['objects'],
  points: objectsPoints,
  config: Type.Object({}),
  setup({ services, ports, point }) {
    const { storage, checksums } = services
    const transforms = point('object.transform')
    const contributed = point('object.observer')
    let observers: readonly ObjectObserver[] = []
    let transform: ObjectTransform | undefined
    storage.define(createProcedures({ events: createObjectEvents(() => observers), clock: ports.clock }))
    storage.derive(table.object, (...change) => {
      deriveObjectUsage(...change)
      deriveObjectDue(...change)
    })
    storage.derive(table.upload, (...change) => {
      deriveUploadUsage(...change)
      deriveUploadDue(...change)
    })
    storage.derive(table.part, derivePartUsage)
    const objects = createObjects({ storage, checksums, ...ports, transform: () => transform })
    return {
      services: { objects },
      start() {
        transform = transforms.list()[0]?.value
        observers = contributed.list().map(({ value }) => value)
      },
    }
  },
})
