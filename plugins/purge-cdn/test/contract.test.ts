/** The contract against servers that have the wire format and the signatures of each network, and refuse everything else. */
import { purgeWebhookContract } from 'svc/plugins/purge/contract'
import t from 'tap'
import { startCdn1, startCdn2, startCdn3, startCdn4, startCdn5 } from './vendors.ts'

t.test('Cloudflare', t => purgeWebhookContract(t, startCdn1))
t.test('Fastly', t => purgeWebhookContract(t, startCdn2))
t.test('Akamai', t => purgeWebhookContract(t, startCdn3))
t.test('Bunny', t => purgeWebhookContract(t, startCdn4))
t.test('CloudFront', t => purgeWebhookContract(t, t => startCdn5(t)))
