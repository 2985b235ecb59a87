/** Quotas over the Admin API. */
import { startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(() => server.stop())
const { signed } = server
const path = '/api/v1/buckets/small/quota'
const set = (body: object) => signed({ method: 'PUT', path, body })

t.test('a quota is set, read and removed', async t => {
  t.equal((await signed({ path })).json.code, 'bucket_not_found')
  t.equal((await set({ type: 'hard', size: 1 })).json.code, 'bucket_not_found')
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'small' } })
  t.same((await signed({ path })).json, { type: '', size: 0 })
  t.same((await set({ type: 'hard', size: 5000 })).json, { type: 'hard', size: 5000 })
  t.same((await signed({ path })).json, { type: 'hard', size: 5000 })
  t.equal((await server.kernel.services.objects.getBucket('small')).quotaBytes, 5000)
  for (const wrong of [
    {},
    { size: 1 },
    { type: 'soft', size: 1 },
    { type: 'hard', size: -1 },
    { type: 'hard', size: 1.5 },
  ]) {
    t.equal((await set(wrong)).status, 400, JSON.stringify(wrong))
  }
  t.same((await set({ type: '', size: 0 })).json, { type: '', size: 0 })
  t.same((await signed({ path })).json, { type: '', size: 0 })
  t.equal((await server.anonymous({ path })).status, 401)
})

t.test('a new bucket has a quota that is a number of bytes, or none', async t => {
  const create = (quotaBytes: number) =>
    signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'limited', quotaBytes } })
  for (const wrong of [-1, 2 ** 53, 1e300]) t.equal((await create(wrong)).status, 400, String(wrong))
  t.equal((await create(Number.MAX_SAFE_INTEGER)).status, 201)
})
