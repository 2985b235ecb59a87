/** The cache in the web console: policies, settings with their levels, purges, inspection, statistics and caches in front, as an operator uses them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { eventually, startConsole, visitDomain } from '../console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const environment = { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8' }
  const { server, url: console, admin, browser, signIn } = await startConsole(t, { environment })
  const host = 'www.example.test'
  await admin.call('POST', '/buckets', { name: 'site' })
  for (const key of ['index.html', 'docs/a.html', 'docs/b.html'])
    await admin.call('POST', `/buckets/site/objects/upload?key=${key}`, key)
  await admin.call('POST', '/distributions', {
    id: 'www',
    aliases: [host],
    origin: { bucket: 'site' },
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/docs/' } }],
  })
  const visit = async (path: string) => {
    const { port } = new URL(`http://${server.startup.web}`)
    const { headers } = await visitDomain(port, new URL(`http://${host}${path}`))
    return String(headers['x-cache'])
  }
  const warm = (path: string) => eventually(`${path} is cached`, async () => (await visit(path)) === 'HIT')

  t.test('a policy is checked as it is typed, and says in words what it comes to', async t => {
    const { page, flaws } = await browser.open(
      t,
      {},
      /400 POST .*validate|400 POST .*policies|412 PUT .*policies|409 DELETE/,
    )
    const dialog = page.getByRole('dialog')
    await signIn(page, '/cache?tab=policies')
    await page.getByRole('cell', { name: /^immutable-assets/ }).waitFor()
    await page.getByRole('button', { name: 'Create policy' }).click()
    await dialog.getByLabel('Name').fill('news')
    await dialog.getByRole('button', { name: /^How long/ }).click()
    const fresh = dialog.getByLabel('Fresh for, where the object does not say')
    t.equal(await fresh.getAttribute('placeholder'), '1h (inherited)')
    await fresh.fill('soon')
    await dialog.getByText('is no duration').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    // The server's words are at the field, and nowhere else.
    await eventually('the field is wrong', async () => (await fresh.getAttribute('aria-invalid')) === 'true')
    t.equal(await dialog.getByText('invalid_cache_request').count(), 0)
    await fresh.fill('2m')
    await dialog.getByText('otherwise for 2m').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'news', exact: true }).waitFor()
    const news = await admin.call('GET', '/cache/policies/news')
    t.match(news, { ttl: { default: '2m' }, builtin: false })
    await page.getByRole('button', { name: 'Show standard' }).click()
    await dialog.getByRole('button', { name: /^What is stored/ }).click()
    t.equal(await dialog.getByLabel('Objects of at most').inputValue(), '1GiB')
    t.equal(await dialog.getByRole('button', { name: 'Save' }).count(), 0)
    t.same(flaws, [])
  })

  t.test('levels of a distribution inherit, and each field says where it is from', async t => {
    const { page, flaws } = await browser.open(t, {}, /400 PUT .*cache|412 PUT .*cache/)
    const others = { quota: '64MiB', purgeWebhooks: [], browserCacheControl: '' }
    await admin.call('PUT', '/distributions/www/cache/settings', { cache: others })
    await signIn(page, '/distributions/www')
    await page.getByRole('tab', { name: 'Cache' }).click()
    await page.getByRole('combobox', { name: 'Policy', exact: true }).fill('news')
    await page.getByRole('button', { name: /^How long.*1 set$/ }).click()
    t.ok(await page.getByLabel('Cache-Control for browsers: that of the object').isChecked())
    await page.getByRole('combobox', { name: 'Fetched into the cache when written' }).fill('docs/**')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add settings for a domain' }).click()
    const domain = page.getByRole('group', { name: 'settings for a domain 1' })
    await domain.getByRole('combobox', { name: 'Domain' }).fill('other.example.test')
    await domain.getByRole('button', { name: /^How long/ }).click()
    await domain.getByLabel('At most').fill('3d')
    await domain.getByLabel('Cache-Control for browsers: that of the object').check()
    await domain.getByLabel('Memory that its answers may take').fill('16MiB')
    await page.getByRole('button', { name: 'Add settings for a behaviour' }).click()
    const behavior = page.getByRole('group', { name: 'behaviour 1' })
    await behavior.getByRole('combobox', { name: 'Path' }).fill('/docs/')
    await behavior.getByRole('button', { name: /^What makes/ }).click()
    await behavior.getByLabel('Request headers: none at all').check()
    t.equal(await behavior.getByLabel('Memory that its answers may take').count(), 0)
    await behavior.getByLabel('Caches in front that are told what to forget: none of them').check()
    await page.getByRole('button', { name: 'Save' }).click()
    const domainName = domain.getByRole('combobox', { name: 'Domain' })
    await eventually('the domain is wrong', async () => (await domainName.getAttribute('aria-invalid')) === 'true')
    await domainName.fill(host)
    const least = domain.getByLabel('At least')
    await least.fill('9d')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('one end is wrong', async () => (await least.getAttribute('aria-invalid')) === 'true')
    await domain.getByLabel('At most').fill('2d')
    t.equal(await least.getAttribute('aria-invalid'), null, 'either end mends it')
    await least.fill('')
    await domain.getByLabel('At most').fill('3d')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The settings of the cache are saved').waitFor()
    t.match(await admin.call('GET', '/distributions/www/cache/settings'), {
      cache: { policy: 'news', ...others },
      warmOnWrite: ['docs/**'],
      domains: [{ host, cache: { ttl: { max: '3d' }, quota: '16MiB', browserCacheControl: '' } }],
      behaviors: [
        { pathPattern: { type: 'prefix', pattern: '/docs/' }, cache: { cacheKey: { headers: [] }, purgeWebhooks: [] } },
      ],
    })
    await page.getByText(/^on \(/).waitFor()
    await page.getByRole('button', { name: 'What counts, and where it is from' }).click()
    await page.getByRole('row', { name: 'How long answers are fresh', exact: true }).waitFor()
    await page.getByRole('row', { name: /^Fresh for, where.* 2m distribution/ }).waitFor()
    await page.getByRole('row', { name: /^Fresh for at most 3d domain/ }).waitFor()
    await page.getByLabel('Path', { exact: true }).fill('/docs/a.html')
    await page.getByRole('row', { name: /^Request headers none behaviour/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await admin.call('PUT', '/distributions/www/cache/settings', { cache: { policy: 'aggressive' } })
    t.same(flaws, [])
  })

  t.test('settings of the cluster: the secret is kept unless another is typed', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 PUT .*settings/)
    await signIn(page, '/cache?tab=settings')
    const policy = page.getByRole('combobox', { name: 'Policy', exact: true })
    await policy.fill('nosuch')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.mantine-InputWrapper-error').getByText('There is no cache policy "nosuch".').waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await policy.fill('')
    await page.getByLabel('Its value').fill('look-inside-the-cache')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The settings of the cache are saved').waitFor()
    await page.getByLabel('Answers name the node').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('it is stored', async () => (await admin.call('GET', '/cache/settings')).nodeHeader === true)
    t.match(await admin.call('GET', '/cache/settings'), { debug: { secret: '*REDACTED*' } })
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })

  t.test('a purge says what it would hit, hits it, and is listed; statistics and inspection agree', async t => {
    const { page, flaws } = await browser.open(t, {}, /40[04] POST .*invalidations|400 GET .*inspect/)
    for (const path of ['/', '/docs/a.html', '/docs/b.html']) await warm(path)
    await signIn(page, '/cache')
    await page
      .getByRole('row', { name: new RegExp(`^${host}/docs/a.html`) })
      .first()
      .waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('tab', { name: 'Inspect' }).click()
    await page.getByLabel('Address').fill('::no url')
    await page.keyboard.press('Enter')
    await page.locator('.mantine-InputWrapper-error').getByText('is no http(s) URL').waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    await page.getByLabel('Address').fill(`http://${host}/docs/a.html`)
    await page.keyboard.press('Enter')
    await page.getByText('would be answered through the cache').waitFor()
    await page.getByRole('row', { name: / cached / }).waitFor()
    t.same(await accessibilityFlaws(page), [])

    await page.getByRole('tab', { name: 'Purge' }).click()
    await page.getByText('tags are purged on every domain').waitFor()
    await page.getByRole('button', { name: 'What would it hit?' }).click()
    await page.getByText('Nothing is chosen').waitFor()
    // What is wrong stands at its field, once, and goes when it is right.
    const named = page.getByRole('combobox', { name: 'Distribution' })
    const paths = page.getByLabel('Paths')
    const flawed = async (field: typeof paths) => (await field.getAttribute('aria-invalid')) === 'true'
    await named.fill('nosuch')
    await paths.fill('/docs/')
    await page.getByRole('button', { name: 'What would it hit?' }).click()
    await eventually('the distribution is wrong', () => flawed(named))
    t.equal(await page.getByRole('alert').count(), 0)
    await named.fill('')
    await paths.fill('docs')
    await page.getByRole('button', { name: 'What would it hit?' }).click()
    await eventually('the path is wrong', () => flawed(paths))
    t.equal(await page.getByRole('alert').count(), 0)
    t.same(await accessibilityFlaws(page), [])
    await paths.fill('')
    await eventually('and is not any more', async () => !(await flawed(paths)))
    await page.getByRole('button', { name: 'Add pattern' }).click()
    const pattern = page.getByLabel('Pattern 1', { exact: true })
    const isFocused = (element: unknown) => (element as { matches(selector: string): boolean }).matches(':focus')
    await eventually('what is added has the focus', () => pattern.evaluate(isFocused))
    await pattern.fill('/docs/')
    await page.getByRole('button', { name: 'What would it hit?' }).click()
    await page.getByText('2 cached answers would be dropped').waitFor()
    t.equal(await visit('/docs/a.html'), 'HIT', 'nothing has been purged yet')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByRole('row', { name: /inv-1 prefix \/docs\/ .* done .* 2 / }).waitFor()
    t.equal(await visit('/docs/a.html'), 'MISS')
    t.equal(await visit('/'), 'HIT')

    await page.getByLabel('Everything').check()
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page
      .getByRole('dialog')
      .getByText(/\d cached answers of this server go/)
      .waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Purge' }).click()
    await page.getByRole('row', { name: /inv-2 everything/ }).waitFor()
    t.not(await visit('/'), 'HIT')
    await page.goto(`${console}/distributions/www`)
    await page.getByRole('tab', { name: 'Purge' }).click()
    await page.getByRole('row', { name: /inv-2 everything ?All distributions/ }).waitFor()
    t.same(flaws, [])
  })

  t.test('a warm-up fetches what it is told to, shows how far it is, and what is missing', async t => {
    await admin.call('POST', '/cache/invalidations', { all: true })
    const sitemap = `<urlset><url><loc>https://${host}/docs/b.html</loc></url></urlset>`
    await admin.call('POST', '/buckets/site/objects/upload?key=sitemap.xml', sitemap)
    const { page, flaws } = await browser.open(t, {}, /400 POST .*warmups/)
    await signIn(page, '/cache?tab=warmup')
    await page.getByText('You have begun none').waitFor()
    const submit = page.getByRole('button', { name: 'Warm up', exact: true })
    await submit.click()
    await page.locator('input:focus:invalid').waitFor()
    await page.getByRole('combobox', { name: 'Distribution' }).fill('www')
    await submit.click()
    await page.getByText('Name paths, patterns or a sitemap').waitFor()
    await page.getByRole('combobox', { name: 'Domains' }).fill('other.example.test')
    await page.keyboard.press('Enter')
    await page.getByLabel('Paths').fill('no-slash')
    await submit.click()
    await page.getByText('must be a path that begins with / and has no #: "no-slash"').first().waitFor()
    t.equal(await page.getByLabel('Paths').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Paths').fill('/none.html')
    await submit.click()
    await page.getByText('is no exact alias').first().waitFor()
    await page.getByRole('combobox', { name: 'Domains' }).press('Backspace')
    await page.getByRole('button', { name: 'Add pattern' }).click()
    await page.getByLabel('Pattern 1', { exact: true }).fill('/docs/a')
    await page.getByLabel('Sitemap').fill('/sitemap.xml')
    await page.getByLabel('At most').fill('50')
    await page.getByLabel('At once').fill('2')
    await submit.click()
    await page.getByRole('row', { name: /^warm-.* www .* done 3 of 3 pages .*none\.html 404/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    for (const path of ['/docs/a.html', '/docs/b.html']) t.equal(await visit(path), 'HIT', path)
    t.not(await visit('/'), 'HIT', 'nothing else was fetched')

    await page.getByRole('link', { name: 'Distributions' }).click()
    await page.getByRole('link', { name: 'www', exact: true }).click()
    await page.getByRole('tab', { name: 'Warm up' }).click()
    await page.getByLabel('Paths').fill('/docs/a.html')
    await submit.click()
    await page.getByRole('row', { name: /^warm-.* done 1 of 1 pages 0 1 / }).waitFor()
    await page.getByRole('row', { name: /^warm-.* done 3 of 3 pages / }).waitFor()
    t.same(flaws, [])
  })

  t.test('a cache in front is tested, told of purges, and its secret is not shown again', async t => {
    const purged: string[] = []
    let status = 503
    const front = createServer(({ method, url, headers }, response) => {
      if (headers.authorization === 'Bearer tok3n') purged.push(`${method} ${headers.host}${url}`)
      response.writeHead(status).end()
    })
    await new Promise<void>(done => front.listen(0, '127.0.0.1', done))
    t.teardown(() => front.close())
    const { port } = front.address() as AddressInfo
    const { page, flaws } = await browser.open(t, {}, /400 PUT .*cache/)
    await signIn(page, '/distributions/www')
    await page.getByRole('tab', { name: 'Cache' }).click()
    await page.getByRole('button', { name: 'Add cache in front' }).click()
    const webhook = page.getByRole('group', { name: 'cache in front 1' })
    await webhook.getByRole('textbox', { name: 'Name', exact: true }).fill('proxy')
    await webhook.getByLabel('Method').selectOption('PURGE')
    await webhook.getByText('Sent as Authorization: Bearer').waitFor()
    await webhook.locator('input[type=password]').first().fill('tok3n')
    await webhook.getByRole('textbox', { name: 'Address' }).fill('nowhere')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('must be an absolute URL').first().waitFor()
    await webhook.getByRole('textbox', { name: 'Address' }).fill(`http://127.0.0.1:${port}{path}`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The settings of the cache are saved').waitFor()
    await webhook.getByRole('button', { name: 'Test proxy' }).click()
    await page.getByText(/The test failed: .*503/).waitFor()
    status = 200
    await webhook.getByRole('button', { name: 'Test proxy' }).click()
    await page.getByText(/proxy answered 200/).waitFor()
    t.equal(await webhook.locator('input[type=password]').first().inputValue(), '')
    t.same(await accessibilityFlaws(page), [])

    await webhook.getByRole('textbox', { name: 'Name', exact: true }).fill('front')
    await page.getByRole('tab', { name: 'Purge' }).click()
    await page.getByLabel('Paths').fill('/news/b.html')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await eventually('the cache in front is told', async () => purged.some(line => line.endsWith('/news/b.html')))
    const rowOf = (path: string) => page.getByRole('row', { name: new RegExp(`path ${path} `) })
    await rowOf('/news/b.html').getByText('done', { exact: true }).waitFor()
    status = 403
    await page.getByLabel('Paths').fill('/news/c.html')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await rowOf('/news/c.html').getByText('done in this cache').waitFor()
    const notTaken = page.getByText(/^proxy has not taken every purge yet: .*403/)
    await notTaken.waitFor()
    t.equal(await notTaken.count(), 1, 'once, above all of them')
    // Which of them it waits for is not told.
    await rowOf('/news/b.html').getByText('done in this cache').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })
}
