/** The cache of answers: so far the extension point of its tiers. */
import { definePlugin } from 'svc/kernel'
import type {} from './api.ts'
import { cachePoints } from './points.ts'

export default definePlugin({
  name: 'cache',
  description: 'The cache of answers of distributions.',
  points: cachePoints,
  setup() {},
})
